package storetest

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// fixture is one property's store with its clock and its bookkeeping.
type fixture[T any] struct {
	*Harness[T]
	t        testing.TB
	ctx      context.Context
	clock    *clock
	features Features
	contract refrain.Contract

	onCommit  atomic.Pointer[func() error]
	onForget  atomic.Pointer[func()]
	runs      atomic.Int64 // effects begun, committed or not
	mu        sync.Mutex
	ended     map[string]int    // memories declared ended, by identity hash
	committed map[string][]byte // bodies of fresh outcomes, by ref
	placed    map[string]bool   // refs the property wrote by Swap
	broken    bool              // the property damaged or closed the store
}

func newFixture[T any](t *testing.T, open func(*testing.T, Env) *Harness[T], features Features) *fixture[T] {
	f := &fixture[T]{
		t:        t,
		ctx:      t.Context(),
		clock:    &clock{now: epoch},
		features: features,
		contract: refrain.Contract{
			Operation: "orders.create", Schema: "1",
			ReplayFor: time.Hour, RememberFor: 24 * time.Hour,
			Wait: patience,
		},
		ended:     map[string]int{},
		committed: map[string][]byte{},
		placed:    map[string]bool{},
	}
	f.Harness = open(t, Env{
		Now: f.clock.Now,
		Commit: func() error {
			if hook := f.onCommit.Load(); hook != nil {
				return (*hook)()
			}
			return nil
		},
		Forgetting: func() {
			if hook := f.onForget.Load(); hook != nil {
				(*hook)()
			}
		},
	})
	if missing := f.missing(features); len(missing) > 0 {
		t.Fatalf("the harness lacks %v and Features does not excuse it", missing)
	}
	t.Cleanup(f.verify)
	return f
}

// connect returns another connection to the same data, or the same one where
// the engine has no other.
func (f *fixture[T]) connect() *Harness[T] {
	if f.Reopen == nil {
		return f.Harness
	}
	return f.Reopen(f.t)
}

// call is an attempt under the fixture's contract as it is now.
func (f *fixture[T]) call(key, input string) refrain.Call {
	return refrain.Call{Contract: f.contract, Scope: refrain.Tenant("north"), Key: key, Input: []byte(input)}
}

func identity(call refrain.Call) record.Identity {
	return record.Identity{Scope: call.Scope.String(), Operation: call.Contract.Operation, Key: call.Key}
}

func (f *fixture[T]) hash(id record.Identity) string {
	h := id.Hash()
	return hex.EncodeToString(h[:])
}

// row names one business row: identity, ref and run.
func (f *fixture[T]) row(ctx context.Context, call refrain.Call) string {
	running, _ := refrain.CallFrom(ctx)
	return f.hash(identity(call)) + "/" + running.Ref + "/" + strconv.FormatInt(f.runs.Add(1), 10)
}

// effect writes one business row and answers with a body no other run has.
func (f *fixture[T]) effect(call refrain.Call) func(context.Context, T) (refrain.Result, error) {
	return func(ctx context.Context, tx T) (refrain.Result, error) {
		row := f.row(ctx, call)
		if err := f.Write(ctx, tx, row); err != nil {
			return refrain.Result{}, err
		}
		return refrain.Result{Status: 201, Body: []byte(row), Effect: "/orders/1"}, nil
	}
}

// do executes the standard effect.
func (f *fixture[T]) do(call refrain.Call) (refrain.Outcome, error) {
	return f.execute(f.Harness, call, f.effect(call))
}

// execute runs any effect through one connection and keeps the books.
func (f *fixture[T]) execute(through *Harness[T], call refrain.Call, effect func(context.Context, T) (refrain.Result, error)) (refrain.Outcome, error) {
	out, err := through.Exec.Execute(f.ctx, call, effect)
	f.note(out, err)
	return out, err
}

func (f *fixture[T]) note(out refrain.Outcome, err error) {
	if err != nil || out.Replayed {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.committed[out.Ref] = out.Body
}

// fresh executes and demands that the effect ran.
func (f *fixture[T]) fresh(call refrain.Call) refrain.Outcome {
	f.t.Helper()
	out, err := f.do(call)
	if err != nil || out.Replayed || out.State != record.Confirmed {
		f.t.Fatalf("Execute = %+v, %v; want a fresh, confirmed outcome", out, err)
	}
	return out
}

// replay executes and demands the stored outcome.
func (f *fixture[T]) replay(call refrain.Call, want refrain.Outcome) {
	f.t.Helper()
	out, err := f.do(call)
	if err != nil {
		f.t.Fatalf("Execute: %v; want a replay", err)
	}
	f.sameReplay(out, want)
}

func (f *fixture[T]) sameReplay(out, want refrain.Outcome) {
	f.t.Helper()
	if !out.Replayed || out.Ref != want.Ref || string(out.Body) != string(want.Body) || out.State != want.State ||
		out.Status != want.Status || out.Effect != want.Effect || out.Rejected != want.Rejected ||
		!out.ReplayUntil.Equal(want.ReplayUntil) || !out.RememberUntil.Equal(want.RememberUntil) || !out.CreatedAt.Equal(want.CreatedAt) {
		f.t.Errorf("replayed %+v, want %+v", out, want)
	}
}

// refused executes and demands a row of the decision table.
func (f *fixture[T]) refused(call refrain.Call, row string, problem record.Problem) *refrain.Error {
	f.t.Helper()
	out, err := f.do(call)
	return f.isRefusal(out, err, row, problem)
}

func (f *fixture[T]) isRefusal(out refrain.Outcome, err error, row string, problem record.Problem) *refrain.Error {
	f.t.Helper()
	var refusal *refrain.Error
	if !errors.As(err, &refusal) || !errors.Is(err, problem) || refusal.Row != row {
		f.t.Fatalf("Execute = %+v, %s; want row %s, %v", out, describe(err), row, problem)
	}
	return refusal
}

func describe(err error) string {
	var refusal *refrain.Error
	if errors.As(err, &refusal) {
		return fmt.Sprintf("row %q %v", refusal.Row, err)
	}
	return fmt.Sprint(err)
}

// effects demands the number of committed business rows.
func (f *fixture[T]) effects(want int) {
	f.t.Helper()
	rows, err := f.Effects(f.ctx)
	if err != nil {
		f.t.Fatalf("Effects: %v", err)
	}
	if len(rows) != want {
		f.t.Errorf("%d effects, want %d", len(rows), want)
	}
}

// receipts demands the number of records.
func (f *fixture[T]) receipts(want int) {
	f.t.Helper()
	records, err := f.Store.List(f.ctx, record.Record{}, 1000)
	if err != nil {
		f.t.Fatalf("List: %v", err)
	}
	if len(records) != want {
		f.t.Errorf("%d records, want %d", len(records), want)
	}
}

// forgets declares that the memory of the call's action has ended, so that one
// more effect is no fault.
func (f *fixture[T]) forgets(call refrain.Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended[f.hash(identity(call))]++
}

// place writes a record by Swap where none was.
func (f *fixture[T]) place(call refrain.Call, change func(*record.Record)) record.Record {
	f.t.Helper()
	claim, err := call.Claim()
	if err != nil {
		f.t.Fatal(err)
	}
	next := claim.Begin(f.clock.Now())
	change(next)
	f.mu.Lock()
	f.placed[next.Ref] = true
	f.mu.Unlock()
	rec, err := f.Store.Swap(f.ctx, record.Record{}, *next)
	if err != nil {
		f.t.Fatalf("Swap: %v", err)
	}
	return rec
}

// timed makes a UUIDv7 born at t, distinct by n.
func timed(t time.Time, n int) string {
	ms := t.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7%03x-8%03x-%012x", ms>>16, ms&0xffff, n>>12&0xfff, n&0xfff, n)
}

// ulid makes a ULID born at t.
func ulid(t time.Time) string {
	const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	key := []byte("00000000001234567890ABCDEF")
	for i, ms := 9, t.UnixMilli(); i >= 0; i, ms = i-1, ms>>5 {
		key[i] = crockford[ms&31]
	}
	return string(key)
}
