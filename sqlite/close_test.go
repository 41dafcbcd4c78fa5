package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/refrain-dev/refrain"
)

func TestClose(t *testing.T) {
	db := openShop(t)
	var wg sync.WaitGroup
	release := hold(t, db, &wg)
	var errs [2]error
	wg.Go(func() { errs[0] = run(db, call("in line"), put("in line")) })
	awaitQueue(t, db, 1)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w := db.writer
	if err := w.close(ended); !errors.Is(err, context.Canceled) { // bounded by its context
		t.Errorf("close with a leader: %v, want the cancellation", err)
	}
	closed := make(chan struct{})
	var closeErr error
	go func() {
		defer close(closed)
		closeErr = db.writer.close(context.Background())
	}()
	select {
	case <-closed:
		t.Error("close did not wait for the leader")
	default:
	}
	release()
	<-closed
	wg.Wait()
	if err := errors.Join(closeErr, errs[0]); err != nil { // who was in line was served
		t.Error(err)
	}
	wantItems(t, db, "in line")
	for range 2 {
		if err := db.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	runs := 0
	err := run(db, call("late"), counted(&runs, put("late")))
	wantRow(t, err, "9", refrain.ErrUnavailable)
	wantRow(t, run(db, call("in line"), counted(&runs, put("again"))), "9", refrain.ErrUnavailable)
	equal(t, "runs", runs, 0)
	if err := db.Update(t.Context(), func(context.Context, Tx) error { return nil }); !errors.Is(err, errClosed) {
		t.Errorf("Update: %v, want errClosed", err)
	}
}

// A leader that Close did not wait for closes the connection itself.
func TestCloseDoesNotWait(t *testing.T) {
	db := openShop(t)
	var wg sync.WaitGroup
	release := hold(t, db, &wg)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Close(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the cancellation", err)
	}
	release()
	wg.Wait()
	quiet(t, db)
	db.writer.mu.Lock()
	defer db.writer.mu.Unlock()
	if db.writer.guard != nil {
		t.Error("the connection is still open")
	}
}

// Rows and statements that an effect left open do not keep Close.
func TestCloseLeftOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db := openAt(t, path)
	var k kept
	if err := run(db, call("k"), k.keep); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(t.Context()); err != nil {
		t.Error(err)
	}
	k.use(t)
	// Nothing holds the file any more: its lock can be had, its log is gone.
	lock(t, plain(t, path, "locking_mode(EXCLUSIVE)"))()
}
