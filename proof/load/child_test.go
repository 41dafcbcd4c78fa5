//go:build linux

package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/processes"
)

// assignment is what a child process is started with, as JSON in the variable.
type assignment struct {
	Kind  string // of the engine
	Shop  engines.Place
	Child int
	Seed  uint64
	Begin int64 // by clock
	Last  time.Duration
	Into  string // the file its history goes to
}

const variable = "REFRAIN_LOAD_CHILD"

const (
	children = 4
	workers  = 64 // of each child
	pool     = 8
)

// clock is one that all processes of a machine share and nobody sets.
func clock() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // Linux always has it
	}
	return now.Nano()
}

// child places orders until its time is over, writes its history and returns
// its exit code.
func child(text string) int {
	var a assignment
	err := json.Unmarshal([]byte(text), &a)
	if err == nil {
		err = a.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (a assignment) run(ctx context.Context) (err error) {
	shop, err := a.Shop.Shop(a.Kind)
	if err != nil {
		return err
	}
	engine, err := shop.Connect("", pool)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close(context.Background())) }()
	if wait := time.Duration(a.Begin - clock()); wait > 0 {
		<-time.After(wait) // all begin together
	}
	histories := make([][]processes.Call, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() { histories[w] = a.work(ctx, engine, w) })
	}
	all.Wait()
	if busy := engine.Settle(5 * time.Second); busy > 0 {
		return fmt.Errorf("%d connections did not come back", busy)
	}
	file, err := os.Create(a.Into)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := json.NewEncoder(file)
	for _, history := range histories {
		for _, call := range history {
			if err := out.Encode(call); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	perKey = 2 * time.Millisecond // a new key comes up this often
	front  = 16                   // keys that are asked for at one time
)

// work asks for keys: most often for one of those that have just come up, which
// all processes ask for, else for any older one.
func (a assignment) work(ctx context.Context, engine *engines.Engine, worker int) (history []processes.Call) {
	random := rand.New(rand.NewPCG(a.Seed, uint64(a.Child*workers+worker)))
	for n := 0; ; n++ {
		since := time.Duration(clock() - a.Begin)
		if since > a.Last {
			return history
		}
		newest := int(since/perKey) + front
		key := newest - random.IntN(front)
		if random.IntN(4) == 0 {
			key = random.IntN(newest)
		}
		call := processes.Call{Client: a.Child*workers + worker, Key: fmt.Sprintf("key-%d", key), Request: "this", Token: fmt.Sprintf("%d.%d.%d", a.Child, worker, n)}
		if random.IntN(8) == 0 {
			call.Request = "that"
		}
		order := engines.Call(call.Key)
		order.Contract, order.Input = processes.Contract(), []byte(call.Request)
		if random.IntN(2) == 0 {
			order.Contract.Wait = 2 * time.Second
		}
		call.Called = clock()
		out, err := engine.Do(ctx, order, engines.Order{Token: call.Token})
		call.Ended = clock()
		call.Answer(out, err)
		history = append(history, call)
	}
}
