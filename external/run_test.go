package external_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

func TestRunner(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.start()
		o := d.accept("k1")
		pass(50 * time.Millisecond)
		o = d.want(o.Ref, record.Confirmed)
		wantEnds(t, o, operation.Confirmed)
		if word, _ := d.db.Get("shipments", o.Action); string(word) != "shipped" {
			t.Errorf("the business row says %q", word)
		}
		again, err := d.ship("k1")
		if err != nil || !again.Replayed || again.Value != "shipped track-"+o.Key[:8] {
			t.Errorf("repeat: %+v, %v", again, err)
		}
		rec := d.record(o)
		if !rec.ReplayUntil.Equal(o.Final.Add(24*time.Hour)) || !rec.RememberUntil.Equal(o.Final.Add(30*24*time.Hour)) {
			t.Errorf("the memory ends at %v and %v, final at %v", rec.ReplayUntil, rec.RememberUntil, o.Final)
		}
		if calls, _ := d.carrier.count(); calls != 1 {
			t.Errorf("%d calls", calls)
		}
		for _, kind := range []external.Kind{external.Accepted, external.Opened, external.Closed, external.Final} {
			if d.seen.count(kind) != 1 {
				t.Errorf("%d of %s:\n%s", d.seen.count(kind), kind, d.seen)
			}
		}
	})
}

func TestOneSubmissionAmongRunners(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			time.Sleep(20 * time.Millisecond)
			return d.carrier.send(s)
		}
		d.start()
		d.run(d.another())
		d.run(d.another())
		var refs []string
		for i := range 60 {
			refs = append(refs, d.accept(fmt.Sprint("k", i)).Ref)
		}
		pass(5 * time.Second)
		for _, ref := range refs {
			wantEnds(t, d.want(ref, record.Confirmed), operation.Confirmed)
		}
		if calls, _ := d.carrier.count(); calls != 60 {
			t.Errorf("%d calls for 60 operations", calls)
		}
	})
}

func TestConcurrencyIsBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		now, most := 0, 0
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			d.carrier.mu.Lock()
			now++
			most = max(most, now)
			d.carrier.mu.Unlock()
			time.Sleep(time.Second)
			d.carrier.mu.Lock()
			now--
			d.carrier.mu.Unlock()
			return d.carrier.send(s)
		}
		d.options.Concurrency = 3
		d.start()
		for i := range 12 {
			d.accept(fmt.Sprint("k", i))
		}
		pass(4500 * time.Millisecond)
		if calls, _ := d.carrier.count(); most != 3 || calls != 12 {
			t.Errorf("%d at once and %d calls, want 3 and 12 in four rounds", most, calls)
		}
	})
}

// TestWake: what this process accepts is not left until the next poll, whenever
// its transaction commits; an idle runner asks once per Poll.
func TestWake(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.options.Poll = time.Minute
		d.start()
		pass(10*time.Minute + time.Second)
		if n := d.store.taken(); n != 11 {
			t.Errorf("an idle runner asked %d times in ten minutes, want at the start and every minute", n)
		}
		tx, err := d.db.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o, err := d.runner.Accept(t.Context(), tx, external.Intent{Step: "ship", Detached: true})
		if err != nil {
			t.Fatal(err)
		}
		go func() { time.Sleep(30 * time.Millisecond); _ = tx.Commit() }()
		pass(70 * time.Millisecond)
		d.want(o.Ref, record.Confirmed)
	})
}

func TestLostIsRepeatedUnderTheSameKey(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.answer = func(_ context.Context, n int, s external.Submission) operation.Reply {
			if n < 4 {
				d.carrier.arrive(s)
				return lost
			}
			return d.carrier.send(s)
		}
		d.start()
		o := d.accept("k")
		pass(500 * time.Millisecond)
		d.want(o.Ref, record.Unknown)
		if _, err := d.ship("k"); !errors.Is(err, refrain.ErrOutcomeUnknown) {
			t.Errorf("a repeat meanwhile: %v", err)
		}
		pass(time.Minute)
		o = d.want(o.Ref, record.Confirmed)
		wantEnds(t, o, operation.Lost, operation.Lost, operation.Lost, operation.Confirmed)
		for i, s := range d.carrier.calls {
			if s.Key != o.Key || string(s.Input) != "parcel k" || s.Attempt != i+1 || s.Repeats != (i > 0) {
				t.Errorf("call %d: %+v", i, s)
			}
		}
		if parts := strings.Split(o.Key, "-"); len(o.Key) != 36 || len(parts) != 5 || o.Key != strings.ToLower(o.Key) || parts[2][0] != '8' {
			t.Errorf("key %q is no UUID of version 8", o.Key)
		}
	})
}

// TestUnknownIsLeft: where nothing makes a repeat safe, only a person goes on.
func TestUnknownIsLeft(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.terms = operation.Terms{}
		d.options.Poll = time.Minute
		unanswered(d)
		d.start()
		o := d.accept("k")
		pass(48 * time.Hour)
		o = d.want(o.Ref, record.Unknown)
		if calls, _ := d.carrier.count(); calls != 1 || !o.Due.IsZero() || !strings.Contains(o.Why, operation.ErrNotRepeatable.Error()) {
			t.Errorf("%d calls, due %v, %s", calls, o.Due, o.Why)
		}
		if d.seen.count(external.Parked) != 1 {
			t.Errorf("nobody was told:\n%s", d.seen)
		}
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			d.carrier.arrive(s)
			return operation.Reply{End: operation.Refused, Status: 402, Reference: "no"}
		}
		d.start()
		o := d.accept("k")
		pass(time.Second)
		d.want(o.Ref, record.Rejected)
		var refused *refrain.Rejection
		if again, err := d.ship("k"); !errors.As(err, &refused) || refused.Error() != "refused no" {
			t.Errorf("repeat: %+v, %v", again, err)
		}
	})
}

func TestExpires(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.step.Within = time.Minute
		d.runner = d.another()
		o := d.accept("k")
		pass(2 * time.Minute)
		d.start()
		pass(2 * time.Second)
		o = d.want(o.Ref, record.Rejected)
		if calls, _ := d.carrier.count(); calls != 0 || o.Answer.End != operation.NotSent {
			t.Errorf("%d calls, answer %+v", calls, o.Answer)
		}
		if word, _ := d.db.Get("shipments", o.Action); string(word) != "refused" {
			t.Errorf("the business row says %q", word)
		}
	})
}

func TestLargeResultKeepsItsDigest(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.step.Settle = func(context.Context, memstore.Tx, external.Settled) (record.Result, error) {
			return external.JSON(200, strings.Repeat("x", refrain.DefaultMaxResponse))
		}
		d.start()
		o := d.accept("k")
		pass(time.Second)
		d.want(o.Ref, record.Confirmed)
		if rec := d.record(o); rec.Result.Kept() || len(rec.Result.Body) != 0 {
			t.Errorf("kept %d bytes, digest %x", len(rec.Result.Body), rec.Result.Digest)
		}
		if _, err := d.ship("k"); !errors.Is(err, refrain.ErrResultGone) {
			t.Errorf("repeat: %v", err)
		}
	})
}

func TestRunOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		stop := d.start()
		if err := d.runner.Run(t.Context()); !errors.Is(err, external.ErrRunning) {
			t.Errorf("a second Run: %v", err)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		synctest.Wait()
	})
}
