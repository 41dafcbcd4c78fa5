package postgres

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestAcksForgetAnotherServer: transaction numbers of one run of a server say
// nothing of another's.
func TestAcksForgetAnotherServer(t *testing.T) {
	var a acks
	covered := func(server string, xid uint64) bool { return a.cover(seen{postmaster: server, xid: xid}) }
	same(t, "nothing known", covered("a", 1), false)
	a.note("a", 100)
	same(t, "below", covered("a", 99), true)
	same(t, "at it", covered("a", 100), false)
	same(t, "on another server", covered("b", 50), false)
	a.note("a", 90)
	same(t, "it only rises", covered("a", 99), true)
	a.note("b", 10)
	same(t, "the new server", covered("b", 9), true)
	same(t, "numbers of the old one", covered("b", 50), false)
	same(t, "the old one", covered("a", 50), false)
}

// TestAcksShareABarrier: who comes while one is under way waits for the next,
// which all of them share.
func TestAcksShareABarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, end := make(chan int, 10), make(chan error)
		n := 0
		a := acks{emit: func(ctx context.Context) (seen, error) {
			n++
			begun <- n
			return seen{postmaster: "a", xmin: uint64(n)}, <-end
		}}
		answers := make(chan error, 10)
		ask := func() { go func() { answers <- a.await(t.Context(), time.Minute) }() }
		ask()
		<-begun
		ask()
		ask()
		synctest.Wait()
		end <- nil
		same(t, "the first", <-answers, nil)
		<-begun
		synctest.Wait()
		same(t, "answers before the second barrier", len(answers), 0)
		failed := errors.New("failed")
		end <- failed
		for range 2 {
			if err := <-answers; !errors.Is(err, failed) || !errors.Is(err, errUnconfirmed) {
				t.Errorf("those who came later: %v", err)
			}
		}
		synctest.Wait()
		same(t, "barriers", n, 2)
		same(t, "what a failed one confirms", a.cover(seen{postmaster: "a", xid: 1}), false)
	})
}

// TestAcksPatience: nobody waits longer than they would for a COMMIT.
func TestAcksPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := acks{emit: func(ctx context.Context) (seen, error) {
			<-ctx.Done()
			return seen{}, ctx.Err()
		}}
		started := time.Now()
		if err := a.await(t.Context(), 10*time.Second); !errors.Is(err, errLate) || time.Since(started) != 10*time.Second {
			t.Errorf("await: %v after %v", err, time.Since(started))
		}
		a.stop()
		if err := a.await(t.Context(), time.Second); err == nil {
			t.Error("a barrier after the end")
		}
		synctest.Wait()
	})
}
