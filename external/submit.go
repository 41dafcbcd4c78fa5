package external

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// submit carries out the newest attempt of o, which is durable, and writes its
// reply. It reports whether that was written.
func (r *Runner[T]) submit(live *lives, l *lane, o operation.Operation, c clock) bool {
	attempt := o.Attempts[len(o.Attempts)-1]
	ctx, giveUp := context.WithCancelCause(live.attempts)
	defer giveUp(nil)
	bounded, stop := patiently(ctx, r.options.MaxAttempt)
	defer stop()
	leave, shut := context.WithCancelCause(bounded)
	defer shut(nil)
	h := &hold{leave: leave, shut: shut, giveUp: giveUp, clock: c, lease: o.Lease}
	beating, rest := context.WithCancel(live.writes)
	beaten := make(chan struct{})
	go func() { defer close(beaten); r.beat(beating, bounded, o, attempt.N, h) }()
	defer func() { rest(); <-beaten }()

	r.observe(ctx, o, Event{Kind: Opened, Attempt: attempt.N})
	begun := time.Now()
	var refused atomic.Bool // by our own gate
	reply, panicked := contained(func() operation.Reply {
		return l.provider.Submit(bounded, Submission{
			Ref: o.Ref, Step: o.Step, Key: o.Key, Input: o.Input, Attempt: attempt.N, Repeats: repeats(o), Accepted: o.Created, NotAfter: attempt.NotAfter,
			Gate: func() error {
				err := h.gate(c, attempt.NotAfter)
				if err != nil {
					refused.Store(true)
				}
				return err
			},
		})
	})
	took := time.Since(begun)
	h.answer()
	l.called(1)
	if panicked != nil {
		r.observe(ctx, o, Event{Kind: Panicked, Attempt: attempt.N, Err: panicked})
	}
	r.judge(ctx, l, reply, refused.Load())
	return r.close(live, o, attempt.N, reply, took)
}

// repeats reports whether an attempt before the newest one may have left.
func repeats(o operation.Operation) bool {
	for _, a := range o.Attempts[:len(o.Attempts)-1] {
		if a.End == operation.Lost || a.End == operation.Open {
			return true
		}
	}
	return false
}

// contained runs a provider's code and returns what it says of the attempt. A
// panic, the end of its goroutine and a reply that makes no sense prove nothing:
// the attempt is lost.
func contained(submit func() operation.Reply) (reply operation.Reply, panicked error) {
	done := make(chan struct{})
	reply = operation.Reply{End: operation.Lost, Note: "the provider's code ended without a reply"}
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				panicked = fmt.Errorf("external: a provider panicked: %v", p)
			}
		}()
		reply = submit()
	}()
	<-done
	switch reply.End {
	case operation.NotSent, operation.Refused, operation.Lost, operation.Confirmed:
		return reply, panicked
	}
	return operation.Reply{End: operation.Lost, Note: "the provider's reply is " + reply.End.String()}, panicked
}

// judge tells the breaker. What our own gate stopped says nothing of the provider.
func (r *Runner[T]) judge(ctx context.Context, l *lane, reply operation.Reply, gated bool) {
	of := operation.Operation{Provider: l.name}
	switch {
	case reply.End == operation.Confirmed || reply.End == operation.Refused:
		if l.breaker.answered() {
			r.observe(ctx, of, Event{Kind: BreakerClosed})
		}
	case gated && reply.End == operation.NotSent:
		l.breaker.spare()
	case l.breaker.lost():
		r.observe(ctx, of, Event{Kind: BreakerOpened})
	}
}
