package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

// TestListen: a slow effect's COMMIT wakes who waits in another process.
func TestListen(t *testing.T) {
	s := newShop(t, Options{Notify: true})
	other := openShop(t, keeperURL(t), s.opts)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := other.Listen(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Listen: %v", err)
		}
	})
	id := claimOf(t, keeperCall("slow")).Identity
	var woken <-chan struct{}
	var stop func()
	eventually(t, "it listens", func() bool {
		woken, stop = other.ears.wake(id)
		return woken != nil
	})
	defer stop()
	other.ears.mu.Lock()
	same(t, "waiters", len(other.ears.waiting), 1)
	other.ears.mu.Unlock()
	if err := s.run(keeperCall("slow"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := tx.Exec(ctx, `SELECT pg_sleep(0.03)`)
		return done, err
	}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-woken:
	case <-time.After(20 * time.Second):
		t.Error("the COMMIT woke nobody")
	}

	// A short effect does not notify: it would queue up behind others.
	woken, again := other.ears.wake(claimOf(t, keeperCall("short")).Identity)
	defer again()
	if err := s.run(keeperCall("short"), func(ctx context.Context, tx Tx) (refrain.Result, error) { return done, nil }); err != nil {
		t.Fatal(err)
	}
	next, last := other.ears.wake(claimOf(t, keeperCall("slow again")).Identity)
	defer last()
	if err := s.run(keeperCall("slow again"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := tx.Exec(ctx, `SELECT pg_sleep(0.03)`)
		return done, err
	}); err != nil {
		t.Fatal(err)
	}
	<-next
	select {
	case <-woken:
		t.Error("a short effect notified")
	default:
	}
	cancel()
	wg.Wait()
	if woken, _ := other.ears.wake(id); woken != nil {
		t.Error("it listens after the end")
	}
}

// TestUnseen: new identities begin with the transaction, likely repeats with a
// look.
func TestUnseen(t *testing.T) {
	now := noon
	s := newShop(t, at(&now))
	young := "01943f3e-5e00-7000-8000-000000000001"
	claim := claimOf(t, keeperCall("untimed"))
	same(t, "an untimed key's first call", s.unseen(claim), true)
	same(t, "its second", s.unseen(claim), false)
	birth, _ := claim.Policy.KeyTime.Birth(young)
	now = birth.Add(newborn)
	same(t, "a newborn key", s.unseen(claimOf(t, keeperCall(young))), true)
	now = birth.Add(newborn + time.Millisecond)
	same(t, "an older key", s.unseen(claimOf(t, keeperCall("01943f3e-5e00-7000-8000-000000000002"))), false)
}
