package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Many changes of one identity come one after the other: none is lost.
func TestKeeperChangeIsExclusive(t *testing.T) {
	k := newKeeper(t, "pgx")
	rec := k.open(t, "k")
	const each = 5
	var wg sync.WaitGroup
	deciding := make(chan struct{}, 1)
	for _, store := range []*keeper{k, k.sibling(t)} {
		for range 2 {
			wg.Go(func() {
				for range each {
					err := store.Change(context.Background(), rec.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
						select {
						case deciding <- struct{}{}:
							defer func() { <-deciding }()
						default:
							t.Error("two decide at once")
						}
						next := *seen.Record
						next.Attempt++
						return record.Edit{Put: &next, By: "ops", Action: "count", Reason: "test"}, nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	last, err := k.Find(t.Context(), rec.Ref)
	if err != nil || last.Attempt != rec.Attempt+4*each || last.Version != rec.Version+4*each {
		t.Errorf("attempt %d, version %d, %v", last.Attempt, last.Version, err)
	}
	audits, err := k.Audits(t.Context(), rec.Ref)
	if err != nil || len(audits) != 4*each {
		t.Errorf("%d audits, %v", len(audits), err)
	}
}

// While one decides the other is not asked, and finds afterwards what was written.
func TestKeeperChangeKeepsOthersOut(t *testing.T) {
	k := newKeeper(t, "pgx")
	rec := k.open(t, "k")
	other := k.sibling(t)
	turned := make(chan error, 1000) // what each transaction of the other ended with
	write := other.write
	other.write = func(ctx context.Context, work func(context.Context, runner) error) error {
		err := write(ctx, work)
		turned <- err
		return err
	}
	finished := make(chan error, 1)
	err := k.Change(t.Context(), rec.Identity, func(seen record.Seen, _ time.Time) (record.Edit, error) {
		go func() {
			finished <- other.Change(context.Background(), rec.Identity, func(seen record.Seen, _ time.Time) (record.Edit, error) {
				if seen.Record.Attempt != 7 {
					t.Errorf("asked about attempt %d", seen.Record.Attempt)
				}
				return record.Edit{}, nil
			})
		}()
		if err := <-turned; !errors.Is(err, errBusy) {
			t.Errorf("the other's transaction: %v", err)
		}
		next := *seen.Record
		next.Attempt = 7
		return record.Edit{Put: &next}, nil
	})
	if err := errors.Join(err, <-finished); err != nil {
		t.Error(err)
	}
}

// An identity that is executing elsewhere is not waited for without end, and not
// on a connection.
func TestKeeperChangeBusy(t *testing.T) {
	k := newKeeper(t, "pgx")
	claim := claimOf(t, keeperCall("k"))
	ctx, cancel := context.WithCancel(t.Context())
	held, err := k.settle(claim, func(runner) {
		other := k.sibling(t)
		other.db.SetMaxOpenConns(1)
		waiting := make(chan error, 1)
		go func() {
			waiting <- other.Change(ctx, claim.Identity, func(record.Seen, time.Time) (record.Edit, error) {
				return record.Edit{}, errors.New("asked")
			})
		}()
		deadline := time.Now().Add(10 * time.Second)
		for n := 0; n < 3; { // the only connection is to be had again and again
			if conn, err := other.db.Conn(t.Context()); err == nil {
				n++
				conn.Close()
			}
			if time.Now().After(deadline) {
				t.Fatal("the waiter keeps its connection")
			}
		}
		cancel()
		if err := <-waiting; !errors.Is(err, errBusy) && !errors.Is(err, context.Canceled) {
			t.Errorf("while it is held: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	err = k.Change(t.Context(), claim.Identity, func(seen record.Seen, _ time.Time) (record.Edit, error) {
		if seen.Record == nil || seen.Record.Ref != held.Ref {
			t.Errorf("afterwards %+v", seen.Record)
		}
		return record.Edit{}, nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A change whose record was changed by other means starts anew; an error of
// decide writes nothing.
func TestKeeperChangeStartsAnew(t *testing.T) {
	k := newKeeper(t, "pgx")
	rec := k.open(t, "k")
	for _, step := range []struct {
		name string
		edit func(next *record.Record) record.Edit
	}{
		{"put", func(next *record.Record) record.Edit { return record.Edit{Put: next} }},
		{"remove", func(*record.Record) record.Edit { return record.Edit{Remove: true} }},
	} {
		t.Run(step.name, func(t *testing.T) {
			asked := 0
			err := k.Change(t.Context(), rec.Identity, func(seen record.Seen, _ time.Time) (record.Edit, error) {
				if asked++; asked == 1 {
					k.setup(t, `UPDATE {schema}.record SET version = version + 1`)
				}
				next := *seen.Record
				return step.edit(&next), nil
			})
			if err != nil || asked != 2 {
				t.Errorf("asked %d times, %v", asked, err)
			}
		})
	}
	refused := errors.New("refused")
	err := k.Change(t.Context(), rec.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
		return record.Edit{Put: claimOf(t, keeperCall("k")).Begin(now)}, refused
	})
	same(t, "records", k.number(t, `SELECT count(*) FROM {schema}.record`), int64(0))
	if !errors.Is(err, refused) {
		t.Error(err)
	}
}

// A first change of two that begin at once: one opens, the other finds it.
func TestKeeperChangeFirst(t *testing.T) {
	k := newKeeper(t, "pgx")
	claim := claimOf(t, keeperCall("k"))
	asked := 0
	err := k.Change(t.Context(), claim.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
		if asked++; asked == 1 {
			other := claim.Begin(now)
			other.Lease = now.Add(time.Minute)
			if _, err := k.sibling(t).Swap(t.Context(), record.Record{}, *other); err != nil {
				t.Error(err)
			}
		}
		edit, _, fresh, err := claim.Open(seen, now)
		if fresh != (asked == 1) {
			t.Errorf("asked %d times, fresh %t", asked, fresh)
		}
		return edit, err
	})
	if asked != 2 || err == nil {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

func TestKeeperList(t *testing.T) {
	now := noon
	k := newKeeper(t, "postgres", at(&now))
	var refs []string
	for i := range 3 {
		now = now.Add(time.Second)
		refs = append(refs, k.mustSettle(t, keeperCall(fmt.Sprint(i))).Ref)
	}
	recs, err := k.List(t.Context(), record.Record{Identity: record.Identity{Scope: "tenant=north"}, State: record.Confirmed}, 2)
	if err != nil || len(recs) != 2 || recs[0].Ref != refs[2] || recs[1].Ref != refs[1] || recs[0].Result.Body != nil {
		t.Errorf("%+v, %v", recs, err)
	}
	if recs, err := k.List(t.Context(), record.Record{State: record.Unknown}, 0); err != nil || recs != nil {
		t.Errorf("%+v, %v", recs, err)
	}
}
