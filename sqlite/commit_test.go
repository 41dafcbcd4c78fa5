package sqlite

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/refrain-dev/refrain"
)

// failCommit answers the first n COMMITs of effects with err; before says
// whether each one happened even so.
func failCommit(t *testing.T, db *DB, n int, happened bool, err error) {
	between(t, db, func(statement string, run func() error) error {
		if statement != "COMMIT" || n == 0 {
			return run()
		}
		n--
		if happened {
			if err := run(); err != nil {
				t.Error(err)
			}
		}
		return err
	})
}

func TestCommitBusy(t *testing.T) {
	db := openShop(t)
	failCommit(t, db, 3, false, sqlite3.BUSY)
	runs := 0
	if err := run(db, call("k"), counted(&runs, put("k"))); err != nil {
		t.Error(err)
	}
	equal(t, "runs", runs, 1)
	wantItems(t, db, "k")
}

// After a COMMIT without a certain answer each member looks before it runs
// again.
func TestCommitLost(t *testing.T) {
	for _, happened := range []bool{true, false} {
		db := openShop(t)
		var outs [3]refrain.Outcome
		var errs [3]error
		var runs [3]int
		member := func(i int, key string) func() {
			return func() {
				outs[i], errs[i] = db.Execute(context.Background(), call(key), counted(&runs[i], put(key)))
			}
		}
		db.haste = time.Hour
		quiet(t, db)
		db.writer.span = time.Hour
		var wg sync.WaitGroup
		release := hold(t, db, &wg)
		for i, key := range []string{"a", "b", "c"} {
			wg.Go(member(i, key))
			awaitQueue(t, db, i+1)
		}
		skipped := false
		db.writer.between = func(statement string, run func() error) error { // the holder reads it after release
			if statement != "COMMIT" {
				return run()
			}
			if !skipped { // the holder's own
				skipped = true
				return run()
			}
			db.writer.between = nil
			if happened {
				if err := run(); err != nil {
					t.Error(err)
				}
			}
			return sqlite3.IOERR
		}
		release()
		wg.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Errorf("happened %t: %v", happened, err)
		}
		want := 2
		if happened {
			want = 1
		}
		for i := range outs {
			equal(t, "replayed", outs[i].Replayed, happened)
			equal(t, "runs", runs[i], want)
		}
		wantItems(t, db, "a", "b", "c")
	}
}

// An outcome that cannot be found out is told as such, and later truthfully.
func TestCommitUnknown(t *testing.T) {
	db := openShop(t)
	failCommit(t, db, maxTries, false, sqlite3.IOERR)
	runs := 0
	err := run(db, call("k"), counted(&runs, put("k")))
	wantRow(t, err, "10", refrain.ErrCommitUnknown)
	equal(t, "runs", runs, maxTries)
	wantItems(t, db)
	if err := run(db, call("k"), put("k")); err != nil {
		t.Error(err)
	}
	wantItems(t, db, "k")
}

// The COMMIT happened, its answer is lost and so is the file: nobody may say
// that nothing was executed.
func TestCommitLostThenUnreachable(t *testing.T) {
	for _, lost := range []string{"BEGIN IMMEDIATE", "SAVEPOINT refrain"} {
		db := openShop(t)
		reachable := true
		between(t, db, func(statement string, run func() error) error {
			switch {
			case statement == "COMMIT" && reachable:
				reachable = false
				return errors.Join(run(), sqlite3.IOERR)
			case statement == lost && !reachable:
				return sqlite3.CANTOPEN
			}
			return run()
		})
		runs := 0
		err := run(db, call("k"), counted(&runs, put("k")))
		wantRow(t, err, "10", refrain.ErrCommitUnknown)
		quiet(t, db)
		reachable = true
		db.writer.between = nil
		out, err := db.Execute(t.Context(), call("k"), counted(&runs, put("k")))
		if err != nil || !out.Replayed {
			t.Errorf("%+v, %v", out, err)
		}
		equal(t, "runs", runs, 1)
		wantItems(t, db, "k")
	}
}

// hang keeps COMMIT from answering until release is called.
func hang(t *testing.T, db *DB, answer func(run func() error) error) (hanging <-chan struct{}, release func()) {
	began, released := make(chan struct{}), make(chan struct{})
	first := true
	between(t, db, func(statement string, run func() error) error {
		if statement != "COMMIT" || !first {
			return run()
		}
		first = false
		close(began)
		<-released
		return answer(run)
	})
	return began, func() { close(released) }
}

func TestCommitWait(t *testing.T) {
	db := openShop(t, Options{Busy: 30 * time.Millisecond})
	hanging, release := hang(t, db, func(run func() error) error { return run() })
	c := call("k")
	c.Contract.CommitWait = 10 * time.Millisecond
	runs := 0
	err := run(db, c, counted(&runs, put("k"))) // the connection still waits
	wantRow(t, err, "10", refrain.ErrCommitUnknown)
	<-hanging
	err = run(db, call("behind"), counted(&runs, put("behind")))
	wantRow(t, err, "9", refrain.ErrUnavailable)
	equal(t, "runs", runs, 1)
	release()
	quiet(t, db)
	out, err := db.Execute(t.Context(), c, counted(&runs, put("k")))
	if err != nil || !out.Replayed {
		t.Errorf("%+v, %v", out, err)
	}
	equal(t, "runs", runs, 1)
	wantItems(t, db, "k")
}

// A member whose caller has gone is not run again: nobody would take its turn,
// and the leader would wait for ever.
func TestCommitWaitThenLost(t *testing.T) {
	db := openShop(t)
	_, release := hang(t, db, func(func() error) error { return sqlite3.IOERR })
	c := call("k")
	c.Contract.CommitWait = 10 * time.Millisecond
	runs := 0
	err := run(db, c, counted(&runs, put("k")))
	wantRow(t, err, "10", refrain.ErrCommitUnknown)
	release()
	wantUsable(t, db)
	equal(t, "runs", runs, 1)
	wantItems(t, db)
}

// Whether a caller goes and whether its member runs again is one decision.
func TestLeaveBeforeAgain(t *testing.T) {
	w := &writer{slow: make(map[string]time.Time)}
	m := &member{name: "k", done: make(chan error, 1)}
	if w.leave(m, true) {
		t.Fatal("left a queue it was not in")
	}
	w.giveUp([]*member{m}, nil, sqlite3.IOERR)
	if len(w.queue) != 0 {
		t.Error("a member without a caller is in line")
	}
}

// The application's own work has no record to look up: it is not run again.
func TestUpdateCommitLost(t *testing.T) {
	db := openShop(t)
	failCommit(t, db, 1, true, sqlite3.IOERR)
	runs := 0
	err := db.Update(t.Context(), func(ctx context.Context, tx Tx) error {
		runs++
		_, err := put("k")(ctx, tx)
		return err
	})
	wantRow(t, err, "10", refrain.ErrCommitUnknown)
	equal(t, "runs", runs, 1)
	wantItems(t, db, "k")
}

// A COMMIT that was refused did not happen.
func TestCommitRefused(t *testing.T) {
	db := openShop(t)
	failCommit(t, db, 2, false, sqlite3.FULL) // also the run after a lookup
	runs := 0
	err := run(db, call("k"), counted(&runs, put("k")))
	wantRow(t, err, "9", refrain.ErrUnavailable)
	wantItems(t, db)
	wantReceipt(t, db, call("k"), false)
}
