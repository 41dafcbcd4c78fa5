package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

// The answer to COMMIT is lost. Whether it happened or not, the caller gets the
// truth, and the effect commits once.
func TestLostAnswer(t *testing.T) {
	for _, pass := range []bool{true, false} {
		for _, noLock := range []bool{false, true} {
			t.Run(fmt.Sprintf("reached=%t/no lock=%t", pass, noLock), func(t *testing.T) {
				s := newShop(t)
				p := newProxy(t, s.cfg)
				db := opened(t, p.cfg, Options{NoLock: noLock})
				mustBuy(t, db, order("known"))
				p.cut(pass, func() {})
				runs := 0
				out, err := db.Execute(t.Context(), order("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
					runs++
					return buys("k")(ctx, tx)
				})
				if err != nil || out.Replayed {
					t.Errorf("%+v, %v", out, err)
				}
				if want := map[bool]int{true: 1, false: 2}[pass]; runs != want && !noLock {
					t.Errorf("%d runs, want %d", runs, want)
				}
				if again, err := db.Execute(t.Context(), order("k"), buys("again")); err != nil || again.Ref != out.Ref {
					t.Errorf("%+v, %v; want %s", again, err, out.Ref)
				}
				s.wants(t, "k", "known")
				s.receipts(t, 2)
			})
		}
	}
}

// While the old connection is still at its COMMIT, nothing found is no evidence.
func TestLostAnswerStillCommitting(t *testing.T) {
	s := newShop(t)
	p := newProxy(t, s.cfg)
	db := opened(t, p.cfg, Options{})
	mustBuy(t, db, order("known"))
	rekeying := s.begin(t, sql.LevelReadCommitted) // keeps the record's statement waiting
	if _, err := rekeying.Exec(`SELECT * FROM refrain_operation FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	p.cut(true, func() {})
	c := order("k")
	c.Contract.CommitWait = 300 * time.Millisecond
	c.Wait = -1 // it is no other's claim, to be waited for
	_, err := db.Execute(t.Context(), c, buys("k"))
	wantRow(t, err, "10", refrain.ErrCommitUnknown)
	s.wants(t, "known")
	if err := rekeying.Commit(); err != nil {
		t.Fatal(err)
	}
	if out, err := db.Execute(t.Context(), order("k"), buys("again")); err != nil || !out.Replayed {
		t.Errorf("%+v, %v; want what was committed in the end", out, err)
	}
	s.wants(t, "k", "known")
}

// A COMMIT without an answer releases its caller; a few of those, and nothing
// more is begun.
func TestLateCommits(t *testing.T) {
	for name, open := range kinds {
		s := newShop(t)
		p := newProxy(t, s.cfg)
		db := open(t, p.cfg, Options{Connections: 16})
		db.pool.SetMaxOpenConns(16)
		mustBuy(t, db, order("known"))
		release := make(chan struct{})
		let := sync.OnceFunc(func() {
			p.mu.Lock()
			p.hold = nil
			p.mu.Unlock()
			close(release)
		})
		t.Cleanup(let)
		p.mu.Lock()
		p.hold = release
		p.mu.Unlock()
		var all sync.WaitGroup
		var holding sync.WaitGroup
		holding.Add(lateCommits)
		for i := range lateCommits {
			all.Go(func() {
				c := order(fmt.Sprint("late ", i))
				c.Contract.CommitWait = 100 * time.Millisecond
				_, err := db.Execute(context.Background(), c, func(ctx context.Context, tx Tx) (refrain.Result, error) {
					holding.Done()
					holding.Wait() // else the first ones stop the others
					return buys(c.Key)(ctx, tx)
				})
				wantRow(t, err, "10", refrain.ErrCommitUnknown)
			})
		}
		given := make(chan struct{})
		go func() {
			all.Wait()
			close(given)
		}()
		await(t, given, name+": the callers are released")
		err := run(db, "more", buys("more"))
		wantRow(t, err, "9", refrain.ErrUnavailable)
		if !errors.Is(err, errLate) {
			t.Errorf("%s: %v, want %v", name, err, errLate)
		}
		let()
		eventually(t, name+": the late ones end", func() bool { return !db.late.full() })
		if err := run(db, "more", buys("more")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		eventually(t, name+": all are committed", func() bool {
			return column(t, s.raw, `SELECT count(*) FROM effects`)[0] == fmt.Sprint(lateCommits+2)
		})
		s.receipts(t, lateCommits+2)
	}
}

// The caller's cancellation does not reach COMMIT.
func TestCancelledAtCommit(t *testing.T) {
	for name, open := range kinds {
		s := newShop(t)
		db := open(t, s.cfg, Options{})
		ctx, cancel := context.WithCancel(context.Background())
		db.beforeCommit = func() error { cancel(); return nil }
		if out, err := db.Execute(ctx, order("k"), buys("k")); err != nil || out.Replayed {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
		s.wants(t, "k")
		s.receipts(t, 1)
	}
}

// A statement that its context ends costs the connection and leaves nothing.
func TestCutStatement(t *testing.T) {
	for name, open := range kinds {
		s := newShop(t)
		db := open(t, s.cfg, Options{})
		c := order("k")
		c.Contract.MaxExecution = 100 * time.Millisecond
		_, err := db.Execute(context.Background(), c, func(ctx context.Context, tx Tx) (refrain.Result, error) {
			if _, err := tx.ExecContext(ctx, `INSERT INTO effects (id) VALUES ('half')`); err != nil {
				return made, err
			}
			_, _ = tx.ExecContext(ctx, `DO SLEEP(2)`)
			return made, nil
		})
		wantRow(t, err, "14", refrain.ErrNotExecuted)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		usable(t, db)
		if err := run(db, "k", buys("k")); err != nil {
			t.Errorf("%s: the key is not free: %v", name, err)
		}
		s.wants(t, "k")
	}
}
