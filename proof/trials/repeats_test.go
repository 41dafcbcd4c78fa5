package trials

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain/proof/engines"
)

// victim makes what a statement calls to fail as the server's choice of a victim,
// and returns those statements by state. 40P01 is PostgreSQL's deadlock; MySQL's
// has 40001, too.
func victim(t *testing.T, room *engines.Shop) map[string]string {
	t.Helper()
	if room.MySQL {
		past(t, room, "CREATE PROCEDURE "+room.Table("victim")+"() SIGNAL SQLSTATE '40001'")
		return map[string]string{"40001": "CALL " + room.Table("victim") + "()"}
	}
	raise := func(state string) string {
		return "DO $$ BEGIN RAISE EXCEPTION 'a victim' USING ERRCODE = '" + state + "'; END $$"
	}
	return map[string]string{"40001": raise("40001"), "40P01": raise("40P01")}
}

// TestVictimIsRepeated: an effect that lost to another transaction runs again and
// ends well, once.
func TestVictimIsRepeated(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		store := connect(t, room, session{})
		effects := 0
		for state, fail := range victim(t, room) {
			var runs atomic.Int32
			s := store.sell(t, orders, func(w http.ResponseWriter, r *http.Request, run statement) error {
				n := runs.Add(1)
				err := run(r.Context(), store.insert())
				if n < 3 {
					err = errors.Join(err, run(r.Context(), fail))
				}
				return errors.Join(err, created(w, n))
			})
			a := s.post(state, order)
			wantRun(t, a, 3)
			wantReplay(t, s.post(state, order), a)
			effects++
			s.wantEffects(effects)
		}
	})
}

// TestRepeatsAreBounded: what always loses ends as row 14, after a bounded number
// of runs and within its time; the key is free.
func TestRepeatsAreBounded(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		store := connect(t, room, session{})
		short := orders
		short.MaxExecution = 20 * time.Millisecond
		effects := 0
		for state, fail := range victim(t, room) {
			var runs atomic.Int32
			var heals atomic.Bool
			h := func(w http.ResponseWriter, r *http.Request, run statement) error {
				n := runs.Add(1)
				err := run(r.Context(), store.insert())
				if !heals.Load() {
					err = errors.Join(err, run(r.Context(), fail))
				}
				return errors.Join(err, created(w, n))
			}
			s := store.sell(t, orders, h)
			a := s.post(state, order)
			wantProblem(t, a, 503, "not-executed")
			if n := runs.Load(); n < 2 || n > 20 || a.header.Get("Retry-After") == "" {
				t.Errorf("%d runs, then %v", n, a.header)
			}
			began := time.Now()
			wantProblem(t, store.sell(t, short, h).post(state, order), 503, "not-executed")
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("20 ms of execution took %v", took)
			}
			s.wantEffects(effects)
			heals.Store(true)
			wantRun(t, s.post(state, order), runs.Load())
			effects++
			s.wantEffects(effects)
		}
	})
}

// TestDeadlock: two effects lock two rows crosswise. Both clients are served, and
// each effect is there once.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		engineClause := ""
		if room.MySQL {
			engineClause = " ENGINE=InnoDB"
		}
		stock := room.Table("stock")
		past(t, room, "CREATE TABLE "+stock+" (id INT PRIMARY KEY, n INT NOT NULL)"+engineClause, "INSERT INTO "+stock+" VALUES (1, 0), (2, 0)")
		store := connect(t, room, session{})
		var both sync.WaitGroup
		both.Add(2)
		var runs atomic.Int32
		s := store.sell(t, orders, func(w http.ResponseWriter, r *http.Request, run statement) error {
			n := runs.Add(1)
			first, second := "1", "2"
			if r.Header.Get("Idempotency-Key") == "l" {
				first, second = second, first
			}
			take := func(id string) error { return run(r.Context(), "UPDATE "+stock+" SET n = n + 1 WHERE id = "+id) }
			if err := errors.Join(run(r.Context(), store.insert()), take(first)); err != nil {
				return err
			}
			if n <= 2 {
				both.Done()
				both.Wait()
			}
			return errors.Join(take(second), created(w, n))
		})
		answers := map[string]answer{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for _, key := range []string{"k", "l"} {
			all.Go(func() {
				a, err := s.try(s.request(t.Context(), key, order))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				answers[key] = a
			})
		}
		all.Wait()
		for key, a := range answers {
			wantFresh(t, a, 201)
			wantReplay(t, s.post(key, order), a)
		}
		var one, two int
		if err := room.Ints(t.Context(), "SELECT min(n), max(n) FROM "+stock, &one, &two); err != nil || one != 2 || two != 2 || runs.Load() < 3 {
			t.Errorf("stock %d and %d after %d runs, %v", one, two, runs.Load(), err)
		}
		s.wantEffects(2)
	})
}

// TestSameRows: callers that read and write one row at the higher levels all end
// well, each once, and none overwrites another.
func TestSameRows(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		stock := room.Table("stock")
		past(t, room, "CREATE TABLE "+stock+" (n INT NOT NULL)", "INSERT INTO "+stock+" VALUES (0)")
		for i, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
			store := connect(t, room, session{isolation: level})
			s := store.sell(t, orders, func(w http.ResponseWriter, r *http.Request, run statement) error {
				return errors.Join(run(r.Context(), "UPDATE "+stock+" SET n = n + 1"), run(r.Context(), store.insert()), created(w, 1))
			})
			var all sync.WaitGroup
			for n := range 6 {
				all.Go(func() {
					a, err := s.try(s.request(t.Context(), string(level[0])+string(rune('a'+n)), order))
					if err != nil {
						t.Error(err)
					}
					wantRun(t, a, 1)
				})
			}
			all.Wait()
			var n int
			if err := room.Ints(t.Context(), "SELECT n FROM "+stock, &n); err != nil || n != 6*(i+1) {
				t.Errorf("%s: stock = %d, %v", level, n, err)
			}
			s.wantEffects(6 * (i + 1))
		}
	})
}
