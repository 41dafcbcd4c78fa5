package processes

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/refrain-dev/refrain"
)

// work is what a history is made of.
type work struct {
	keys    int
	perKey  int // calls of each key
	callers int // goroutines of each executor
}

// task is one call before it is made, with all its caller's choices.
type task struct {
	key, request, token string
	patient             bool          // waits for another's claim
	quit                time.Duration // after which the caller leaves, if positive
	leaves              bool          // the caller leaves while its effect runs
	hurried             bool          // the caller hardly waits for the COMMIT
}

func plan(random *rand.Rand, w work) chan task {
	tasks := make(chan task, w.keys*w.perKey)
	for key := range w.keys {
		for n := range w.perKey {
			next := task{key: fmt.Sprintf("key-%d", key), request: "this", token: fmt.Sprintf("%d.%d", key, n), patient: random.IntN(2) == 0}
			switch random.IntN(8) {
			case 0:
				next.request = "that"
			case 1:
				next.quit = Upto(random, time.Millisecond) + 1
			case 2:
				next.leaves = true
			case 3:
				next.hurried = true
			}
			tasks <- next
		}
	}
	close(tasks)
	return tasks
}

// perform lets callers of all executors work through the keys, in nearly the
// same order, and returns what they were told. effect makes the business write
// of a call; it is told the call's key and token.
func perform[T any](t *testing.T, random *rand.Rand, w work, executors []refrain.Executor[T], effect func(ctx context.Context, tx T, key, token string) error) []porcupine.Operation {
	t.Helper()
	tasks := plan(random, w)
	var clock atomic.Int64 // an order of calls and returns that no clock can blur
	var mu sync.Mutex
	var history []porcupine.Operation
	var all sync.WaitGroup
	for i, executor := range executors {
		for n := range w.callers {
			all.Go(func() {
				for next := range tasks {
					call, in := newInput(next.key, next.request, next.token)
					op := porcupine.Operation{ClientId: i*w.callers + n, Input: in, Call: clock.Add(1)}
					answer := attempt(executor, call, next, effect)
					op.Output, op.Return = answer, clock.Add(1)
					if answer.told == lost {
						op.Return = math.MaxInt64 // it may still take effect
					}
					mu.Lock()
					history = append(history, op)
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	return history
}

func attempt[T any](executor refrain.Executor[T], call refrain.Call, next task, effect func(ctx context.Context, tx T, key, token string) error) output {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if next.quit > 0 {
		defer time.AfterFunc(next.quit, cancel).Stop()
	}
	if next.patient {
		call.Contract.Wait = busy
	}
	if next.hurried {
		call.Contract.CommitWait = time.Microsecond
	}
	return answered(executor.Execute(ctx, call, func(ctx context.Context, tx T) (refrain.Result, error) {
		err := effect(ctx, tx, next.key, next.token)
		if next.leaves {
			cancel()
		}
		return refrain.Result{Body: []byte(next.token)}, err
	}))
}

// tally counts what a history's calls were told.
func tally(history []porcupine.Operation) (counts [lost + 1]int) {
	for _, op := range history {
		counts[op.Output.(output).told]++
	}
	return counts
}

// check demands that the history is linearizable and worth checking.
func check(t *testing.T, name string, w work, history []porcupine.Operation) {
	t.Helper()
	if err := judge(history); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	counts := tally(history)
	if counts[executed] == 0 || counts[replayed] == 0 || counts[conflict] == 0 || counts[executed] > w.keys {
		t.Errorf("%s: %d keys, told %v", name, w.keys, counts)
	}
	t.Logf("%s: %d calls of %d keys are linearizable: %d executed, %d replayed, %d conflict, %d in progress, %d not run, %d open",
		name, len(history), w.keys, counts[executed], counts[replayed], counts[conflict], counts[inProgress], counts[notRun], counts[lost])
}
