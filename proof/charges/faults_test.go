//go:build linux

package charges

import (
	"sync"
	"syscall"
	"time"

	"github.com/refrain-dev/refrain/fakeprovider"
	"github.com/refrain-dev/refrain/record"
)

// fault is one way in which a payment goes wrong.
type fault struct {
	name   string
	change func(*setting) // of the trial
	onFile bool           // for the engine alone whose clock is the process's
	// repeats: with providers alone to whom a machine may submit again.
	repeats bool
	run     func(x *trial) *worker
}

var faults = []fault{
	{name: "killed " + string(inAccept), run: killed(inAccept)},
	{name: "killed " + string(inClaim), run: killed(inClaim)},
	{name: "killed " + string(afterClaim), run: killed(afterClaim)},
	{name: "killed " + string(beforeByte), run: killed(beforeByte)},
	{name: "killed " + string(afterAct), run: killed(afterAct)},
	{name: "killed " + string(inSettle), run: killed(inSettle)},
	{name: "killed " + string(afterSettle), run: killed(afterSettle)},
	{name: "the answer is lost, inside the window", run: lost},
	{name: "the answer is lost until the window is over", change: func(s *setting) { s.Window = margin + 2*lease }, run: lostForLong},
	{name: "stopped beyond its lease, inside the margin", change: short, run: stoppedInside},
	{name: "stopped " + string(beforeByte) + ", beyond the margin", change: short, repeats: true, run: stoppedBeyond},
	{name: "stopped before the gate, beyond the margin", change: short, repeats: true, run: stoppedAtGate},
	{name: "the database is gone while the answer is here", run: withoutDatabase},
	{name: "a clock is ten minutes wrong", onFile: true, run: wrongClock},
	{name: "two workers, hit at random moments", run: atRandom},
}

// short is a window that a pause beyond the margin outlives.
func short(s *setting) { s.Window = 2 * margin }

// killed: a worker is killed at a step, and another one goes on.
func killed(at step) func(x *trial) *worker {
	return func(x *trial) *worker { return x.kill(at, x.order()) }
}

func (x *trial) kill(at step, o *order) *worker {
	x.Helper()
	first := x.start(func(s *setting) { s.At, s.Signal = at, syscall.SIGKILL })
	second := x.start()
	first.run()
	x.post(first, o)
	first.killed()
	second.run()
	x.settle(second)
	return second
}

// lossy are the ways in which the bank acts and does not say so.
var lossy = []fakeprovider.Fault{fakeprovider.LoseAnswer, fakeprovider.CutAnswer, fakeprovider.FailAfter}

// lost: the bank acts, its answer is lost once or twice, and two workers are there.
func lost(x *trial) *worker {
	x.fault(func(s *fakeprovider.Switches) { s.Fault, s.Times = lossy[x.random.IntN(3)], 1+x.random.IntN(2) })
	first, second := x.start(), x.start()
	first.run()
	second.run()
	x.post(first, x.order())
	x.settle(second)
	first.stop()
	return second
}

// lostForLong: every answer is lost, and questions get none, until the window is
// over; from then on nothing is submitted any more.
func lostForLong(x *trial) *worker {
	x.fault(func(s *fakeprovider.Switches) { s.Fault, s.Query = lossy[x.random.IntN(3)], false })
	w := x.start()
	w.run()
	o := x.order()
	x.post(w, o)
	for deadline := time.Now().Add(patience); ; x.wait(lease / 10) {
		x.post(w, o)
		op, _ := x.operation(o)
		over := !op.First.IsZero() && time.Since(op.First) > x.Window
		if over && (op.State.Final() || op.State == record.Unknown) {
			break
		}
		if time.Now().After(deadline) {
			x.Fatalf("%s is %s (%s)", o, op.State, op.Why)
		}
	}
	op, _ := x.operation(o)
	before, _ := x.bank.count(op.Key)
	x.fault(func(s *fakeprovider.Switches) { s.Fault, s.Query = fakeprovider.Sound, x.kind.queries })
	x.settle(w)
	if after, _ := x.bank.count(op.Key); after != before && !x.kind.final {
		x.Errorf("the bank was reached %d times, and %d when the window was over", after, before)
	}
	return w
}

// pause keeps a stopped worker there, while clients ask another one, and has it
// write what it then knows.
func (x *trial) pause(stopped, other *worker, d time.Duration) {
	x.Helper()
	stopped.stopped()
	began := time.Now()
	other.run()
	for time.Since(began)+x.Lease < d {
		x.post(other, x.orders[0])
		x.wait(lease / 10)
	}
	x.wait(d - time.Since(began))
	stopped.signal(syscall.SIGCONT)
	x.paused = max(x.paused, time.Since(began))
	stopped.stop()
}

// stop stops a worker at a step for d, beside another one.
func (x *trial) stop(at step, d time.Duration, o *order) *worker {
	x.Helper()
	first := x.start(func(s *setting) { s.At, s.Signal = at, syscall.SIGSTOP })
	second := x.start()
	first.run()
	var client sync.WaitGroup
	client.Go(func() { x.post(first, o) })
	x.pause(first, second, d)
	client.Wait()
	x.settle(second)
	return second
}

func stoppedInside(x *trial) *worker {
	at := []step{inClaim, afterClaim, beforeByte, afterAct, inSettle}[x.random.IntN(5)]
	return x.stop(at, x.between(lease+lease/4, margin-margin/5), x.order())
}

// long outlives the window that began with the second worker's submission.
func (x *trial) long() time.Duration { return x.Window + x.between(2*lease+margin/2, 2*margin) }

func stoppedBeyond(x *trial) *worker { return x.stopBehindGate(x.long(), x.order()) }

// stopBehindGate: no answer is lost, so that a second charge is known, and disputed.
func (x *trial) stopBehindGate(d time.Duration, o *order) *worker {
	x.Helper()
	w := x.stop(beforeByte, d, o)
	op, _ := x.operation(o)
	if made := x.bank.Report(op.Key).Charges; len(made) > 1 && !op.Disputed {
		x.Errorf("%s was charged %d times, which is not disputed: %+v", o, len(made), op)
	}
	return w
}

// stoppedAtGate: however long the pause is, the gate is behind it, and what comes
// too late does not leave.
func stoppedAtGate(x *trial) *worker { return x.stopAtGate(x.order()) }

func (x *trial) stopAtGate(o *order) *worker {
	x.Helper()
	w := x.stop(afterClaim, x.long(), o)
	x.paused = 0 // none may have been between the gate and the byte
	return w
}

// withoutDatabase: while the bank acts the database goes away, for about a lease,
// so that its answer cannot be written.
func withoutDatabase(x *trial) *worker {
	x.through()
	first, second := x.start(), x.start()
	arrived, gone := make(chan struct{}), make(chan struct{})
	x.bank.arrives = func() { close(arrived); <-gone }
	o := x.order()
	first.run()
	var clients sync.WaitGroup
	clients.Go(func() { x.post(first, o) })
	<-arrived
	back := x.gone()
	close(gone)
	second.run()
	clients.Go(func() { x.post(second, o) })
	x.wait(x.between(lease/2, 4*lease))
	back()
	clients.Wait()
	x.settle(second)
	first.stop()
	return second
}

// wrongClock: the store's time of one of two workers is ten minutes wrong, and the
// answer to its first submission is lost.
func wrongClock(x *trial) *worker {
	x.Skew = 10 * time.Minute
	if x.random.IntN(2) == 0 {
		x.Skew = -x.Skew
	}
	x.fault(func(s *fakeprovider.Switches) { s.Fault, s.Times = lossy[x.random.IntN(3)], 1 })
	wrong := x.start()
	right := x.start(func(s *setting) { s.Skew = 0 })
	wrong.run()
	right.run()
	x.post(wrong, x.order())
	x.settle(right)
	wrong.stop()
	return right
}

// atRandom: clients pay at two workers and retry at either, while the bank is slow
// and loses answers, one worker is stopped beyond its lease, and then the other one
// is killed and comes back.
func atRandom(x *trial) *worker {
	x.fault(func(s *fakeprovider.Switches) {
		s.Fault, s.Times, s.Delay = lossy[x.random.IntN(3)], 1+x.random.IntN(3), x.between(0, lease/4)
	})
	both := []*worker{x.start(), x.start()}
	var clients sync.WaitGroup
	for i := range 4 {
		o := x.order()
		clients.Go(func() {
			for n := range 3 {
				x.post(both[(i+n)%2], o)
			}
		})
	}
	until, pause := x.between(0, lease), x.between(lease+lease/4, margin-margin/5)
	kill := x.between(0, lease)
	both[0].run()
	both[1].run()
	x.wait(until) // where in its work it is hit
	both[0].signal(syscall.SIGSTOP)
	began := time.Now()
	x.wait(pause)
	both[0].signal(syscall.SIGCONT)
	x.paused = time.Since(began)
	x.wait(kill) // where in its work it is hit
	both[1].signal(syscall.SIGKILL)
	both[1].killed()
	clients.Wait()
	x.fault(func(s *fakeprovider.Switches) { s.Fault, s.Delay = fakeprovider.Sound, 0 })
	again := x.start()
	again.run()
	x.settle(again)
	both[0].stop()
	return again
}
