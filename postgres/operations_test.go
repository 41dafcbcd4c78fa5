package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Every way pgx sends statements, and nothing of it stays with the session: a
// pooler gives it to somebody else.
func TestOperationsModes(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			s := newShop(t, Options{}, func(c *pgxpool.Config) { c.MaxConns, c.ConnConfig.DefaultQueryExecMode = 1, mode })
			const state = `SELECT (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND (locktype = 'advisory' OR mode <> 'AccessShareLock' AND locktype = 'relation')),
 (SELECT count(*) FROM pg_listening_channels()), (SELECT string_agg(name || setting, ',' ORDER BY name) FROM pg_settings WHERE source = 'session')`
			var before, after struct {
				locks, channels int
				settings        *string
			}
			read := func(to *struct {
				locks, channels int
				settings        *string
			}) {
				if err := s.conns.QueryRow(t.Context(), state).Scan(&to.locks, &to.channels, &to.settings); err != nil {
					t.Fatal(err)
				}
			}
			read(&before)
			s.live(t)
			read(&after)
			same(t, "what stays with the session", after, before)
			s.wantIdle(t)
		})
	}
}

// An operation costs two round trips for all that are taken at once, one to be
// accepted in a transaction that is there and one by which its record makes sure
// of it, and two to be settled.
func TestOperationsRoundTrips(t *testing.T) {
	var w cable
	s := newShop(t, Options{}, w.dress)
	s.live(t) // its statements are prepared
	var o operation.Operation
	turns := func(what string, want int64, do func()) {
		t.Helper()
		before := w.turns.Load()
		do()
		same(t, "round trips of "+what, w.turns.Load()-before, want)
	}
	bare := w.turns.Load()
	if err := s.run(keeperCall("bare"), func(context.Context, Tx) (refrain.Result, error) { return done, nil }); err != nil {
		t.Fatal(err)
	}
	turns("accepting", w.turns.Load()-bare+2, func() {
		if err := s.run(keeperCall("accepted"), s.pay(&o)); err != nil {
			t.Fatal(err)
		}
	})
	s.accept(t, charge(""), charge(""), charge(""))
	turns("taking four", 2, func() { same(t, "taken", len(s.takes(t, opens)), 4) })
	turns("settling", 2, func() {
		if err := s.Operations().Change(t.Context(), o.Ref, deciding[Tx](confirms)); err != nil {
			t.Error(err)
		}
	})
}

// What was settled costs nothing when due ones are looked for, nor do those of a
// partition that have left it.
func TestOperationsReadOnlyWhatIsDue(t *testing.T) {
	s := newShop(t, Options{})
	s.sql0(t, `INSERT INTO {schema}.external (ref, step, provider, partition, version, format, state, disputed, due, created, final, data, input)
SELECT decode(lpad(to_hex(n), 36, '0'), 'hex'), 's', 'bank', 'line', 1, 1, CASE WHEN n > 100000 THEN 1 ELSE 4 END, false,
 CASE WHEN n > 100000 THEN n END, 1, CASE WHEN n <= 100000 THEN n END, '{"key":"k"}', '' FROM generate_series(1, 101000) n`)
	s.sql0(t, `ANALYZE {schema}.external`)
	for name, tt := range map[string]struct {
		index string
		query string
		args  []any
	}{
		"Take":   {"external_due", takeText, []any{nil, "bank", 100, 1}},
		"behind": {"external_head", headsText, []any{"bank", `["line"]`}},
		"pass":   {"external_head", passText, []any{"bank", "line", 1, 1, 2}},
		"Change": {"external_ref", changeText, []any{nil, make([]byte, refSize)}},
		"Forget": {"external_final", forgetOperationsText, []any{100, 1, 10}},
	} {
		tx, err := s.raw.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows, err := tx.Query(t.Context(), s.sql.text(`EXPLAIN (ANALYZE, BUFFERS, COSTS false, TIMING false) `+tt.query), tt.args...)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err := errors.Join(err, tx.Rollback(t.Context())); err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(lines, "\n")
		if !strings.Contains(plan, tt.index) || strings.Contains(plan, "Seq Scan on external") || strings.Contains(plan, "Rows Removed by Filter: 1000") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
}

// COMMIT arrived, or it did not, and nobody heard: that is said, and the version
// tells what happened.
func TestOperationsCommitDoubt(t *testing.T) {
	for fault, version := range map[fault]int64{deaf: 3, mute: 2} {
		var w cable
		s := newShop(t, Options{}, w.dress)
		o := charge("")
		s.accept(t, o)
		same(t, "taken", len(s.takes(t, opens)), 1)
		s.onCommit(func(run func() error) error {
			w.set(fault)
			defer w.set(healthy)
			return run()
		})
		asked := 0
		err := s.Operations().Change(t.Context(), o.Ref, func(_ context.Context, _ Tx, seen operation.Seen) (operation.Edit, error) {
			asked++
			return confirms(seen), nil
		})
		wantRow(t, err, "10", refrain.ErrCommitUnknown)
		same(t, "decisions", asked, 1)
		same(t, "the version", s.stored(t, o.Ref).Version, version)
	}
}

// Whoever passes the head while the next one is being decided about makes it due
// behind that decision.
func TestOperationsPassUnderWay(t *testing.T) {
	s := newShop(t, Options{})
	head, next := charge("line"), charge("line")
	s.accept(t, head, next)
	if err := s.Operations().Change(t.Context(), head.Ref, deciding[Tx](opens)); err != nil {
		t.Fatal(err)
	}
	var passing sync.WaitGroup
	taken := s.takes(t, func(seen operation.Seen) operation.Edit {
		same(t, "behind", seen.Behind, s.stored(t, head.Ref).Due)
		passing.Go(func() {
			if err := s.Operations().Change(context.Background(), head.Ref, deciding[Tx](confirms)); err != nil {
				t.Error(err)
			}
		})
		eventually(t, "the other one waits", func() bool {
			var waiting bool
			err := s.raw.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1)`,
				"UPDATE "+s.sql.schema+".external%").Scan(&waiting)
			return waiting || err != nil
		})
		seen.Operation.Due = seen.Behind
		return operation.Edit{Put: &seen.Operation}
	})
	passing.Wait()
	same(t, "taken", len(taken), 1)
	if o := s.stored(t, next.Ref); o.Due.After(time.Now()) {
		t.Errorf("due in %v", time.Until(o.Due))
	}
}

// A decider that ends the transaction by a way nobody sees loses everything.
func TestOperationsEndedUnderWay(t *testing.T) {
	s := newShop(t, Options{}, func(c *pgxpool.Config) { c.AfterConnect, c.ConnConfig.Tracer = nil, nil })
	o := charge("")
	s.accept(t, o)
	for _, text := range []string{`COMMIT`, `COMMIT; BEGIN`} {
		err := s.Operations().Change(t.Context(), o.Ref, func(ctx context.Context, tx Tx, seen operation.Seen) (operation.Edit, error) {
			_, err := tx.Conn().PgConn().Exec(ctx, text).ReadAll()
			return opens(seen), err
		})
		if err == nil {
			t.Errorf("%s: no error", text)
		}
		same(t, "the version after "+text, s.stored(t, o.Ref).Version, int64(1))
	}
}

// A row that a trigger does away with is not taken for written.
func TestOperationsSwallowed(t *testing.T) {
	s := newShop(t, Options{})
	o := charge("")
	s.accept(t, o)
	s.sql0(t, `CREATE FUNCTION {schema}.swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`)
	s.sql0(t, `CREATE TRIGGER swallow BEFORE INSERT OR UPDATE ON {schema}.external FOR EACH ROW EXECUTE FUNCTION {schema}.swallow()`)
	err := s.Operations().Change(t.Context(), o.Ref, func(ctx context.Context, tx Tx, seen operation.Seen) (operation.Edit, error) {
		return opens(seen), s.order(ctx, tx, "half")
	})
	if err == nil {
		t.Error("Change: no error")
	}
	s.wantItems(t)
	err = pgx.BeginFunc(t.Context(), s.raw, func(tx pgx.Tx) error { return s.Operations().Add(t.Context(), tx, charge("")) })
	if err == nil || errors.Is(err, operation.ErrAccepted) {
		t.Errorf("Add: %v", err)
	}
}

// An operation that is added wakes who listens, and so does one that becomes due.
func TestOperationsWoken(t *testing.T) {
	s := newShop(t, Options{Notify: true})
	other := openShop(t, keeperURL(t), Options{Schema: s.opts.Schema})
	if other.Operations().Woken() != nil {
		t.Error("a channel, and nobody listens")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() { _ = other.Listen(ctx) })
	eventually(t, "it listens", func() bool { return other.Operations().Woken() != nil })
	woken := func(what string) {
		t.Helper()
		select {
		case <-other.Operations().Woken():
		case <-time.After(20 * time.Second):
			t.Errorf("%s woke nobody", what)
		}
	}
	o := charge("")
	s.accept(t, o)
	woken("an operation")
	if err := s.Operations().Change(t.Context(), o.Ref, deciding[Tx](func(seen operation.Seen) operation.Edit {
		return operation.Edit{Put: &seen.Operation}
	})); err != nil {
		t.Error(err)
	}
	woken("one that is due")
	cancel()
	listening.Wait()
}

// With Grants alone all of it works.
func TestOperationsLeastPrivileges(t *testing.T) {
	k := newKeeper(t, "pgx")
	engine := k.role(t)
	if _, err := k.db.Exec(Grants(k.opts.Schema, engine.name)); err != nil {
		t.Fatal(err)
	}
	s := openShop(t, engine.url, k.opts)
	s.raw = s.conns
	s.live(t)
	k.setup(t, `REVOKE UPDATE ON {schema}.external FROM `+engine.name)
	if check := checkOf(t, engine.keeper, "privileges"); check.OK || check.Value != "missing: UPDATE on external" {
		t.Errorf("%+v", check)
	}
}

// What waits on a record that somebody else holds sees it as it was left.
func TestOperationsWaitForTheRecord(t *testing.T) {
	s := newShop(t, Options{})
	var o operation.Operation
	if err := s.run(keeperCall("k"), s.pay(&o)); err != nil {
		t.Fatal(err)
	}
	holder, err := s.raw.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), s.sql.text(`UPDATE {schema}.record SET attempt = 7, version = version + 1 WHERE ref = $1`), packRef(o.Action)); err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		err := s.Operations().Change(t.Context(), o.Ref, func(_ context.Context, _ Tx, seen operation.Seen) (operation.Edit, error) {
			same(t, "the attempt", seen.Record.Attempt, 7)
			return confirms(seen), nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	eventually(t, "it waits", func() bool {
		var waits bool
		err := s.raw.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1)`,
			"%"+s.sql.schema+".external o WHERE%").Scan(&waits)
		return waits || err != nil
	})
	if err := holder.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	waiting.Wait()
	rec, err := s.Find(t.Context(), o.Action)
	if err != nil || rec.State != record.Confirmed || rec.Attempt != 7 {
		t.Errorf("%+v, %v", rec, err)
	}
}
