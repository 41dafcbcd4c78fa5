package refrain_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

type receipt struct {
	ID    int    `json:"id"`
	Label string `json:"label"`
}

// place is an effect that writes a row and returns a value.
func place(_ context.Context, books tx) (receipt, error) {
	books.rows = append(books.rows, "order")
	return receipt{ID: 7, Label: "<é>"}, nil
}

// untouched is the effect of a call that must not run one.
func untouched[R any](t *testing.T) func(context.Context, tx) (R, error) {
	return func(context.Context, tx) (value R, err error) {
		t.Error("the effect ran again")
		return value, nil
	}
}

func TestDo(t *testing.T) {
	t.Parallel()
	e := newEngine()
	first, err := refrain.Do(t.Context(), e, call("k", order{"A", 2}), place)
	if err != nil || first.Replayed || first.Value != (receipt{7, "<é>"}) {
		t.Fatalf("first: %+v, %v", first, err)
	}
	if first.State != record.Confirmed || !record.ValidRef(first.Ref) || !first.CreatedAt.Equal(e.now) {
		t.Errorf("first: %s, ref %q, created %v", first.State, first.Ref, first.CreatedAt)
	}
	if !first.ReplayUntil.Equal(e.now.Add(day)) || !first.RememberUntil.Equal(e.now.Add(30*day)) {
		t.Errorf("deadlines %v and %v", first.ReplayUntil, first.RememberUntil)
	}
	again, err := refrain.Do(t.Context(), e, call("k", order{"A", 2}), untouched[receipt](t))
	if err != nil || !again.Replayed {
		t.Fatalf("again: %+v, %v", again, err)
	}
	if again.Value != first.Value || again.Ref != first.Ref || !again.CreatedAt.Equal(first.CreatedAt) {
		t.Errorf("again %+v, first %+v", again, first)
	}
	if _, err := refrain.Do(t.Context(), e, call("k", order{"A", 3}), untouched[receipt](t)); !errors.Is(err, refrain.ErrKeyReused) {
		t.Errorf("another order under the key: %v", err)
	}
	if len(e.books.rows) != 1 {
		t.Errorf("%d orders, want 1", len(e.books.rows))
	}
}

func TestDoFails(t *testing.T) {
	t.Parallel()
	e := newEngine()
	broken := errors.New("no stock")
	fail := func(_ context.Context, books tx) (receipt, error) {
		books.rows = append(books.rows, "half")
		return receipt{}, broken
	}
	_, err := refrain.Do(t.Context(), e, call("k", nil), fail)
	if !errors.Is(err, refrain.ErrEffectFailed) || !errors.Is(err, broken) || len(e.books.rows) != 0 || len(e.records) != 0 {
		t.Errorf("a failing effect: %v, rows %v, %d records", err, e.books.rows, len(e.records))
	}
	unmarshalable := func(context.Context, tx) (func(), error) { return func() {}, nil }
	_, err = refrain.Do(t.Context(), e, call("k", nil), unmarshalable)
	if err == nil || !strings.Contains(err.Error(), "the effect's result") || len(e.records) != 0 {
		t.Errorf("a result without JSON: %v, %d records", err, len(e.records))
	}
	if done, err := refrain.Do(t.Context(), e, call("k", nil), place); err != nil || done.Replayed {
		t.Errorf("the key is not free again: %+v, %v", done, err)
	}
}

func TestDoRejects(t *testing.T) {
	t.Parallel()
	e := newEngine()
	reason := errors.New("card expired \"2025\"")
	reject := func(_ context.Context, books tx) (receipt, error) {
		books.rows = append(books.rows, "undone")
		return receipt{ID: 1}, fmt.Errorf("placing: %w", refrain.Reject(reason))
	}
	first, err := refrain.Do(t.Context(), e, call("k", nil), reject)
	again, againErr := refrain.Do(t.Context(), e, call("k", nil), untouched[receipt](t))
	for i, err := range []error{err, againErr} {
		var rejection *refrain.Rejection
		if !errors.As(err, &rejection) || err.Error() != reason.Error() {
			t.Errorf("answer %d is %v, want a rejection for %q", i+1, err, reason)
		}
	}
	if !errors.Is(err, reason) || errors.Is(againErr, reason) {
		t.Errorf("the first answer is %v with its cause, the replay %v with its text alone", err, againErr)
	}
	if first.Replayed || !again.Replayed || first.State != record.Rejected || again.Ref != first.Ref || first.Value != (receipt{}) {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if len(e.books.rows) != 0 || len(e.records) != 1 {
		t.Errorf("rows %v, %d records", e.books.rows, len(e.records))
	}
}

func TestReject(t *testing.T) {
	t.Parallel()
	if err := refrain.Reject(nil); err != nil {
		t.Errorf("Reject(nil) = %v", err)
	}
	reason := errors.New("no")
	if err := refrain.Reject(reason); !errors.Is(err, reason) || err.Error() != "no" {
		t.Errorf("Reject(%v) = %v", reason, err)
	}
}

func TestDoUnreadable(t *testing.T) {
	t.Parallel()
	for _, state := range []record.State{record.Confirmed, record.Rejected} {
		e := newEngine()
		if _, err := refrain.Do(t.Context(), e, call("k", nil), place); err != nil {
			t.Fatal(err)
		}
		e.change(func(r *record.Record) { r.State, r.Result.Body = state, []byte(`{"id":"seven"}`) })
		done, err := refrain.Do(t.Context(), e, call("k", nil), untouched[receipt](t))
		var refusal *refrain.Error
		if !errors.As(err, &refusal) || refusal.Problem != refrain.ErrUnreadable || refusal.Row != "16" {
			t.Fatalf("%s: %v, want row 16", state, err)
		}
		if refusal.Ref != done.Ref || refusal.State != state || refusal.Retryable() || refusal.RetryAfter != 0 || refusal.Err == nil {
			t.Errorf("%s: %+v", state, refusal)
		}
	}
}

func TestDoLargeResult(t *testing.T) {
	t.Parallel()
	large := func(_ context.Context, books tx) (string, error) {
		books.rows = append(books.rows, "order")
		return strings.Repeat("x", 100), nil
	}
	e := newEngine()
	c := call("k", nil)
	c.Contract.MaxResponse = 50
	if _, err := refrain.Do(t.Context(), e, c, large); !errors.Is(err, refrain.ErrResultTooLarge) || len(e.books.rows) != 0 {
		t.Errorf("a result over the limit: %v, rows %v", err, e.books.rows)
	}
	c.Contract.KeepDigest = true
	done, err := refrain.Do(t.Context(), e, c, large)
	if err != nil || len(done.Value) != 100 || done.Replayed || len(done.Digest) == 0 {
		t.Errorf("a result kept as its digest: %d bytes, digest %x, %v", len(done.Value), done.Digest, err)
	}
	if _, err := refrain.Do(t.Context(), e, c, untouched[string](t)); !errors.Is(err, refrain.ErrResultGone) {
		t.Errorf("its repeat: %v", err)
	}
	if len(e.books.rows) != 1 {
		t.Errorf("rows %v, want 1", e.books.rows)
	}
}

// TestDoUnfinished: under Async a repeat may meet a record without a value.
func TestDoUnfinished(t *testing.T) {
	t.Parallel()
	problems := map[record.State]error{
		record.Accepted: refrain.ErrInProgress, record.Submitted: refrain.ErrInProgress, record.Unknown: refrain.ErrOutcomeUnknown,
	}
	for state, want := range problems {
		e := newEngine()
		c := call("k", nil)
		c.Contract.Async = true
		if _, err := refrain.Do(t.Context(), e, c, place); err != nil {
			t.Fatal(err)
		}
		e.change(func(r *record.Record) { r.State, r.Result = state, refrain.Result{} })
		done, err := refrain.Do(t.Context(), e, c, untouched[receipt](t))
		var refusal *refrain.Error
		if !errors.As(err, &refusal) || !errors.Is(err, want) || refusal.Row != "6b" || refusal.State != state || !refusal.Retryable() {
			t.Errorf("%s: %v, want %v", state, err, want)
		}
		if done.State != state || done.Ref == "" || refusal.Ref != done.Ref || refusal.RetryAfter != time.Second {
			t.Errorf("%s: outcome %+v, refusal %+v", state, done.Outcome, refusal)
		}
	}
}

func TestDoInvalid(t *testing.T) {
	t.Parallel()
	e := newEngine()
	c := call("k", nil)
	c.Contract.Schema = ""
	if _, err := refrain.Do(t.Context(), e, c, untouched[receipt](t)); err == nil || !strings.Contains(err.Error(), "Contract.Schema") {
		t.Errorf("a contract without a schema: %v", err)
	}
}

func TestCallFrom(t *testing.T) {
	t.Parallel()
	if running, ok := refrain.CallFrom(t.Context()); ok {
		t.Errorf("outside an effect runs %+v", running)
	}
	e := newEngine()
	c := call("k", nil)
	c.Scope = refrain.Tenant("north & south").Subject("u")
	var inside refrain.Running
	done, err := refrain.Do(t.Context(), e, c, func(ctx context.Context, _ tx) (int, error) {
		var ok bool
		if inside, ok = refrain.CallFrom(ctx); !ok {
			t.Error("inside an effect nothing runs")
		}
		_, err := refrain.Do(ctx, e, call("inner", nil), untouched[int](t))
		if !errors.Is(err, refrain.ErrNested) {
			t.Errorf("nested: %v", err)
		}
		return 1, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if inside.Fence == 0 {
		t.Error("no fence")
	}
	want := refrain.Running{Scope: c.Scope, Operation: "orders.create", Ref: done.Ref, Attempt: 1, Fence: inside.Fence}
	if inside != want || inside.Scope.Get("tenant") != "north & south" {
		t.Errorf("running %+v, want %+v", inside, want)
	}
}
