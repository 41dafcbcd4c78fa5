package mysql

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// nothing is a decision that writes nothing.
func nothing(record.Seen, time.Time) (record.Edit, error) { return record.Edit{}, nil }

// While an effect runs elsewhere a change of its identity waits, holds no
// connection meanwhile, and gives up as row 9.
func TestChangeWaitsWithoutAConnection(t *testing.T) {
	s := newShop(t)
	executing := opened(t, s.cfg, Options{})
	other := mustBuy(t, executing, order("other"))
	changing := opened(t, s.cfg, Options{Connections: 1, Busy: 2 * time.Second})
	running, release := make(chan struct{}), newGate(t)
	done := make(chan error, 1)
	go func() {
		_, err := executing.Execute(t.Context(), order("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
			close(running)
			<-release.opened
			return buys("k")(ctx, tx)
		})
		done <- err
	}()
	await(t, running, "the effect")
	id := identityOf(t, order("k"))
	changed := make(chan error, 1)
	go func() { changed <- changing.Change(t.Context(), id, nothing) }()
	for waits := true; waits; {
		select {
		case err := <-changed:
			wantRow(t, err, "9", record.StoreUnavailable)
			if !errors.Is(err, record.ErrHeld) {
				t.Errorf("it does not say why: %v", err)
			}
			waits = false
			changing.opts.Busy = patience
		default:
			if _, err := changing.Find(t.Context(), other.Ref); err != nil {
				t.Fatalf("a lookup beside the one that waits: %v", err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := changing.Change(ctx, id, nothing); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled change: %v", err)
	}
	release.open()
	if err := await(t, done, "Execute"); err != nil {
		t.Fatal(err)
	}
	seen := false
	err := changing.Change(t.Context(), id, func(s record.Seen, _ time.Time) (record.Edit, error) {
		seen = s.Record != nil && s.Record.State == record.Confirmed
		return record.Edit{}, nil
	})
	if err != nil || !seen {
		t.Errorf("after the effect: %v, the record was seen: %t", err, seen)
	}
}

// The lock of an identity ends with its change, also a refused one: the next
// caller comes at once, on any connection.
func TestChangeLeavesNoLock(t *testing.T) {
	s := newShop(t)
	db, other := opened(t, s.cfg, Options{Connections: 2}), opened(t, s.cfg, Options{})
	id := identityOf(t, order("k"))
	refusal := errors.New("no")
	for name, decide := range map[string]func(record.Seen, time.Time) (record.Edit, error){
		"nothing": nothing,
		"refused": func(record.Seen, time.Time) (record.Edit, error) { return record.Edit{}, refusal },
		"written": func(record.Seen, time.Time) (record.Edit, error) {
			return record.Edit{By: "ops", Action: "noted"}, nil
		},
		"failed": func(record.Seen, time.Time) (record.Edit, error) {
			return record.Edit{Put: &record.Record{Ref: "none", Identity: id}}, nil
		},
	} {
		_ = db.Change(t.Context(), id, decide)
		if err := other.Change(t.Context(), id, nothing); err != nil {
			t.Errorf("after a change that was %s: %v", name, err)
		}
	}
}

// Without locks of the server the rows decide: no change is lost, and of two
// that meet an empty place one looks again.
func TestChangeWithoutLocks(t *testing.T) {
	s := newShop(t)
	engines := []*DB{opened(t, s.cfg, Options{NoLock: true}), onForeign(t, s.cfg, Options{NoLock: true})}
	claim, err := order("k").Claim()
	if err != nil {
		t.Fatal(err)
	}
	const each = 8
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range each {
				err := engines[i%2].Change(t.Context(), claim.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
					next := claim.Begin(now)
					if seen.Record != nil {
						again := *seen.Record
						again.Attempt++
						next = &again
					}
					return record.Edit{Put: next, Register: claim}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen, _, err := engines[0].Load(t.Context(), claim.Identity)
	if err != nil || seen.Record == nil || seen.Record.Attempt != 4*each || seen.Record.Version != 4*each {
		t.Errorf("after %d changes: %+v, %v", 4*each, seen.Record, err)
	}
}

// A change that meets somebody who does without the lock of the identity waits
// for the row and sees what was written.
func TestChangeSeesTheLatest(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{NoLock: true})
	out := mustBuy(t, db, order("k"))
	tx, err := s.raw.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec(`UPDATE refrain_record SET version = 7`); err != nil {
		t.Fatal(err)
	}
	looked := make(chan record.Seen, 1)
	go func() {
		_ = db.Change(t.Context(), identityOf(t, order("k")), func(seen record.Seen, _ time.Time) (record.Edit, error) {
			looked <- seen
			return record.Edit{}, nil
		})
	}()
	s.awaitLockWait(t, 1)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if seen := await(t, looked, "the change"); seen.Record == nil || seen.Record.Version != 7 || seen.Record.Ref != out.Ref {
		t.Errorf("saw %+v", seen.Record)
	}
}
