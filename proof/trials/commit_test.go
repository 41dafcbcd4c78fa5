package trials

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain/proof/engines"
	cable "github.com/refrain-dev/refrain/proof/wire"
)

// TestDeferredConstraint: what fails at COMMIT alone takes the 201 back before
// anybody has seen it, and is the handler's own failure. MySQL checks no
// constraint at COMMIT.
func TestDeferredConstraint(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		if room.MySQL {
			t.Skip("MySQL has no deferred constraints: it checks them with each statement")
		}
		past(t, room, "CREATE TABLE "+room.Table("skus")+" (id text PRIMARY KEY)",
			"CREATE TABLE "+room.Table("lines")+" (sku text REFERENCES "+room.Table("skus")+" DEFERRABLE INITIALLY DEFERRED)")
		store := connect(t, room, session{})
		var runs atomic.Int32
		s := store.sell(t, orders, func(w http.ResponseWriter, r *http.Request, run statement) error {
			n := runs.Add(1)
			return errors.Join(run(r.Context(), store.insert()), run(r.Context(), "INSERT INTO "+room.Table("lines")+" VALUES ('A-1')"), created(w, n))
		})
		for n := range int32(2) {
			a := s.post("k", order)
			wantProblem(t, a, 500, "handler-failed")
			if strings.Contains(a.body, "created") || a.replayed() || runs.Load() != n+1 {
				t.Errorf("answer = %v after %d runs", a, runs.Load())
			}
			s.wantEffects(0)
		}
		past(t, room, "INSERT INTO "+room.Table("skus")+" VALUES ('A-1')")
		first := s.post("k", order)
		wantRun(t, first, 3)
		wantReplay(t, s.post("k", order), first)
		s.wantEffects(1)
	})
}

// TestSessionKilledBeforeCommit: the session dies with the effect in it. The
// client gets the answer of the run that committed, never that of the lost one.
func TestSessionKilledBeforeCommit(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		proxy := cable.New(t, room.Addr(), nil)
		store := connect(t, room, session{addr: proxy.Addr()})
		var runs atomic.Int32
		s := store.sell(t, orders, func(w http.ResponseWriter, r *http.Request, run statement) error {
			n := runs.Add(1)
			if err := run(r.Context(), store.insert()); err != nil {
				return err
			}
			if n == 1 {
				proxy.Sever(cable.Reset)
			}
			return created(w, n)
		})
		a := s.post("k", order)
		if a.status != http.StatusCreated {
			if a.problem() != "store-unavailable" && a.problem() != "not-executed" && a.problem() != "commit-unknown" || a.header.Get("Retry-After") == "" {
				t.Errorf("answer = %v", a)
			}
			a = s.post("k", order)
		}
		wantRun(t, a, 2)
		wantReplay(t, s.post("k", order), a)
		s.wantEffects(1)
	})
}

// TestAnswerToCommitIsLost: the COMMIT is at the server when the connection ends.
// The 201 that leaves is of an effect that is there, and the only one.
func TestAnswerToCommitIsLost(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		match := cable.Postgres
		if room.MySQL {
			match = cable.MySQL
		}
		proxy := cable.New(t, room.Addr(), match)
		store := connect(t, room, session{addr: proxy.Addr()})
		var runs atomic.Int32
		s := store.sell(t, orders, func(w http.ResponseWriter, r *http.Request, run statement) error {
			n := runs.Add(1)
			return errors.Join(run(r.Context(), store.insert()), created(w, n))
		})
		wantRun(t, s.post("known", order), 1) // its operation is learnt
		for n, how := range []cable.How{cable.Reset, cable.Close} {
			key := []string{"reset", "closed"}[n]
			held := proxy.Hold()
			var cutting sync.WaitGroup
			cutting.Go(func() {
				select {
				case <-held.Reached:
					held.Cut(how)
				case <-time.After(20 * time.Second):
					t.Error("no COMMIT is sent")
				}
			})
			a := s.post(key, order)
			cutting.Wait()
			wantRun(t, a, runs.Load())
			wantReplay(t, s.post(key, order), a)
			s.wantEffects(n + 2)
		}
	})
}

// TestSerializationFailureAtCommit: two transactions read what the other one
// writes, and the server notices when the second is at its end. The answer of the
// run that failed is never sent.
func TestSerializationFailureAtCommit(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		if room.MySQL {
			t.Skip("InnoDB's serializable transactions wait or deadlock; they do not fail at COMMIT")
		}
		past(t, room, "CREATE TABLE "+room.Table("shifts")+" (doctor text, on_call int)",
			"INSERT INTO "+room.Table("shifts")+" VALUES ('a', 1), ('b', 1)")
		leave := func(doctor string) string {
			return "UPDATE " + room.Table("shifts") + " SET on_call = 0 WHERE doctor = '" + doctor + "' AND (SELECT sum(on_call) FROM " + room.Table("shifts") + ") > 1"
		}
		store := connect(t, room, session{isolation: pgx.Serializable})
		var runs atomic.Int32
		s := store.sell(t, orders, func(w http.ResponseWriter, r *http.Request, run statement) error {
			n := runs.Add(1)
			if err := errors.Join(run(r.Context(), store.insert()), run(r.Context(), leave("a"))); err != nil {
				return err
			}
			if n == 1 {
				past(t, room, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", leave("b"))
			}
			return created(w, n)
		})
		a := s.post("k", order)
		wantRun(t, a, 2)
		wantReplay(t, s.post("k", order), a)
		s.wantEffects(1)
		var there int
		if err := room.Ints(t.Context(), "SELECT sum(on_call) FROM "+room.Table("shifts"), &there); err != nil || there != 1 {
			t.Errorf("%d doctors are left, %v", there, err)
		}
	})
}
