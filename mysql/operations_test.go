package mysql

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"maps"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
)

// A user who has the privileges and no others does all of it, in whatever session,
// with whatever clock.
func TestOperationsLife(t *testing.T) {
	for name, open := range kinds {
		s := newShop(t)
		user, as := account(t, s.cfg)
		for statement := range strings.SplitSeq(strings.TrimSpace(Privileges(user)), ";\n") {
			must(t, s.raw, strings.TrimSuffix(statement, ";"))
		}
		for what, params := range map[string]map[string]string{
			"plain": nil,
			"loose": {"sql_mode": "''", "sql_safe_updates": "1", "sql_select_limit": "1", "character_set_client": "latin1"},
			"ANSI":  {"sql_mode": "'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,STRICT_ALL_TABLES'"},
			"clock": {"timestamp": "1000000000"},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				cfg := as.Clone()
				cfg.Params = maps.Clone(params)
				s.live(t, open(t, cfg, Options{}), name+what, made)
			})
		}
	}
}

// A long result travels apart from its text; one that could not be read again is
// not written.
func TestOperationsLongResult(t *testing.T) {
	for name, open := range kinds {
		s := newShop(t)
		db := open(t, s.cfg, Options{})
		s.live(t, db, name, refrain.Result{Body: make([]byte, 9<<20)})
		o := charge("")
		s.accept(t, db, o)
		err := db.Operations().Change(t.Context(), o.Ref, func(ctx context.Context, tx Tx, seen operation.Seen) (operation.Edit, error) {
			seen.Operation.Why = strings.Repeat("x", 16<<20)
			return operation.Edit{Put: &seen.Operation}, nil
		})
		if err == nil || !strings.Contains(err.Error(), "max_allowed_packet") {
			t.Errorf("%s: too long: %.200v", name, err)
		}
	}
}

// A session that may not check unique keys would accept a step twice.
func TestOperationsUncheckedKeys(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	conn, err := s.raw.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), `SET unique_checks = 0`); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := db.Operations().Add(t.Context(), tx, charge("")); number(err) != errNullColumn {
		t.Errorf("Add: %v", err)
	}
	if err := db.Operations().Add(t.Context(), s.raw, charge("")); !errors.Is(err, errNoTransaction) {
		t.Errorf("Add in no transaction: %v", err)
	}
}

// A session whose clock stands accepts at the time it is.
func TestOperationsClockStands(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	conn, err := s.raw.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), `SET timestamp = 1000000000`); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	o := charge("")
	if err := db.Operations().Add(t.Context(), tx, o); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if kept := storedIn(t, db, o.Ref); kept.Created.Year() < 2020 || !kept.Due.Equal(kept.Created) {
		t.Errorf("accepted at %v, due at %v", kept.Created, kept.Due)
	}
}

// What was settled costs nothing when due ones are looked for, nor do those of a
// partition that have left it.
func TestOperationsReadOnlyWhatIsDue(t *testing.T) {
	s := newShop(t)
	must(t, s.raw, `CREATE TABLE digits (d INT PRIMARY KEY)`, `INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)`)
	const n = `(a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d)`
	const all = "INSERT INTO refrain_external (ref, step, provider, `partition`, line, version, format, state, disputed, due, created, final, data, input) SELECT "
	must(t, s.raw, all+`LPAD(`+n+`, 18, '0'), 's', 'bank', 'line', NULL, 1, 1, 4, 0, NULL, 1, `+n+`, '{"key":"k"}', '' FROM digits a, digits b, digits c, digits d, digits e`,
		all+`LPAD(a.d + 10 * b.d + 100 * c.d, 18, 'x'), 's', 'bank', 'line', 'line', 1, 1, 1, 0, a.d + 10 * b.d, 1, NULL, '{"key":"k"}', '' FROM digits a, digits b, digits c`,
		`ANALYZE TABLE refrain_external`)
	conn, err := s.raw.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for name, st := range map[string]statement{
		"Take":   {query: takeSQL, args: []any{[]byte("bank"), nil, 1, 100}},
		"behind": {query: headSQL, args: []any{[]byte("bank"), []byte("line")}},
		"next":   {query: headSeqSQL, args: []any{[]byte("bank"), []byte("line")}},
		"pass":   {query: passSQL, args: []any{1, 1, 1, 2}},
		"Forget": {query: forgettableSQL, args: []any{1000, 1, 10}},
	} {
		for _, text := range []string{`FLUSH STATUS`, `START TRANSACTION`} {
			if _, err := conn.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		rows := 0
		if strings.HasPrefix(st.query, "SELECT") && !strings.Contains(st.query, "INTO @") {
			err = ask{st.query, st.args, len(strings.Split(st.query[:strings.Index(st.query, "FROM")], ",")), func(anyRow) error { rows++; return nil }}.one(t.Context(), inlined{conn})
		} else {
			_, err = inlined{conn}.ExecContext(t.Context(), st.query, st.args...)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		read := 0
		count := ask{`SHOW SESSION STATUS LIKE 'Handler_read%'`, nil, 2, func(r anyRow) error { read += int(r.integer(1)); return nil }}
		if err := count.one(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
		if read > 5*rows+100 { // MySQL 9 reads a hundred ahead; there are 100,000
			t.Errorf("%s read %d rows for %d", name, read, rows)
		}
		if _, err := conn.ExecContext(t.Context(), `ROLLBACK`); err != nil {
			t.Fatal(err)
		}
	}
}

// Whoever passes the head while the next one is being decided about makes it due
// behind that decision.
func TestOperationsPassUnderWay(t *testing.T) {
	for name, open := range kinds {
		s := newShop(t)
		db := open(t, s.cfg, Options{})
		head, next := charge("line"), charge("line")
		s.accept(t, db, head, next)
		if err := db.Operations().Change(t.Context(), head.Ref, func(_ context.Context, _ Tx, seen operation.Seen) (operation.Edit, error) { return opens(seen), nil }); err != nil {
			t.Fatal(err)
		}
		var passing sync.WaitGroup
		takes(t, db, func(seen operation.Seen) operation.Edit {
			passing.Go(func() {
				if err := db.Operations().Change(context.Background(), head.Ref, confirming(made)); err != nil {
					t.Error(err)
				}
			})
			s.awaitLockWait(t, 1)
			seen.Operation.Due = seen.Behind
			return operation.Edit{Put: &seen.Operation}
		})
		passing.Wait()
		if o := storedIn(t, db, next.Ref); o.Version < 3 || o.Due.After(time.Now()) {
			t.Errorf("%s: due in %v", name, time.Until(o.Due))
		}
	}
}

// A transaction of the application's that has accepted another one of the
// partition and is still open holds nobody up.
func TestOperationsPassBesideOpenTransaction(t *testing.T) {
	for name, open := range kinds {
		s := newShop(t)
		db := open(t, s.cfg, Options{Busy: time.Second})
		head, next := charge("line"), charge("line")
		s.accept(t, db, head)
		tx, err := s.raw.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Operations().Add(t.Context(), tx, next); err != nil {
			t.Fatal(err)
		}
		if err := db.Operations().Change(t.Context(), head.Ref, func(_ context.Context, _ Tx, seen operation.Seen) (operation.Edit, error) { return opens(seen), nil }); err != nil {
			t.Fatal(err)
		}
		if err := db.Operations().Change(t.Context(), head.Ref, confirming(made)); err != nil {
			t.Errorf("%s: the head is not settled beside an open transaction: %v", name, err)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		if taken := takes(t, db, opens); len(taken) != 1 || taken[0].Ref != next.Ref {
			t.Errorf("%s: taken %+v", name, taken)
		}
	}
}

// A decider may not write to the engine's tables, and one that ends the
// transaction by a way nobody sees loses everything.
func TestOperationsEndedUnderWay(t *testing.T) {
	for name, open := range kinds {
		s := newShop(t)
		must(t, s.raw, `CREATE PROCEDURE leaving() COMMIT`)
		db := open(t, s.cfg, Options{})
		o := charge("")
		s.accept(t, db, o)
		for text, want := range map[string]error{`CALL leaving()`: errGone, `DELETE FROM refrain_external`: refrain.ErrOwned, `COMMIT`: refrain.ErrOwned} {
			err := db.Operations().Change(t.Context(), o.Ref, func(ctx context.Context, tx Tx, seen operation.Seen) (operation.Edit, error) {
				_, _ = tx.ExecContext(ctx, text)
				return opens(seen), nil
			})
			if !errors.Is(err, want) {
				t.Errorf("%s: %s: %v, want %v", name, text, err, want)
			}
			if v := storedIn(t, db, o.Ref).Version; v != 1 {
				t.Errorf("%s: version %d after %s", name, v, text)
			}
		}
	}
}

// deafNet is a network that loses the answer to COMMIT, or COMMIT, once.
const deafNet = "deaf_operations"

// faults are what becomes of the next COMMIT.
const (
	noFault int32 = iota
	deaf          // it arrives, its answer does not
	mute          // it never arrives
)

var fault atomic.Int32

type deafConn struct {
	net.Conn
	cut *atomic.Bool
}

func (c deafConn) Write(b []byte) (int, error) {
	f := fault.Load()
	if f == noFault || !strings.Contains(string(b), commitSQL) {
		return c.Conn.Write(b)
	}
	fault.Store(noFault)
	c.cut.Store(true)
	if f == deaf {
		_, _ = c.Conn.Write(b)
		_, _ = c.Conn.Read(make([]byte, 1)) // the server is done
	}
	return len(b), c.Close()
}

func (c deafConn) Read(b []byte) (int, error) {
	if c.cut.Load() {
		return 0, io.EOF
	}
	return c.Conn.Read(b)
}

// COMMIT arrived, or it did not, and nobody heard: that is said, and the version
// tells what happened.
func TestOperationsCommitDoubt(t *testing.T) {
	driverlib.RegisterDialContext(deafNet, func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		return deafConn{conn, new(atomic.Bool)}, err
	})
	defer driverlib.DeregisterDialContext(deafNet)
	for name, open := range kinds {
		for f, version := range map[int32]int64{deaf: 2, mute: 1} {
			s := newShop(t)
			cfg := s.cfg.Clone()
			cfg.Net = deafNet
			db := open(t, cfg, Options{})
			o := charge("")
			s.accept(t, db, o)
			asked := 0
			err := db.Operations().Change(t.Context(), o.Ref, func(_ context.Context, _ Tx, seen operation.Seen) (operation.Edit, error) {
				asked++
				fault.Store(f)
				return opens(seen), nil
			})
			wantRow(t, err, "10", refrain.ErrCommitUnknown)
			if v := storedIn(t, db, o.Ref).Version; v != version || asked != 1 {
				t.Errorf("%s: version %d, want %d, after %d decisions", name, v, version, asked)
			}
		}
	}
}

// Nothing stays with a session: neither a lock of its own nor a setting.
func TestOperationsLeaveNothing(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{Connections: 1, NoLock: true})
	session := func() (all map[string]string) {
		conn, err := db.pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		all, err = settings(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		for _, clock := range []string{"timestamp", "last_insert_id", "identity", "insert_id", "rand_seed1", "rand_seed2", "warning_count", "error_count", "pseudo_thread_id", "statement_id", "last_gtid"} {
			delete(all, clock)
		}
		return all
	}
	before := session()
	s.live(t, db, "k", made)
	for name, value := range session() {
		if !strings.HasPrefix(name, "gtid") && !strings.HasPrefix(name, "innodb") && before[name] != value {
			t.Errorf("%s was %q and is %q", name, before[name], value)
		}
	}
	var open int
	err := s.raw.QueryRow(`SELECT count(*) FROM information_schema.innodb_trx x JOIN information_schema.processlist p ON p.id = x.trx_mysql_thread_id WHERE p.db = DATABASE()`).Scan(&open)
	if err != nil && !errors.Is(err, sql.ErrNoRows) || open != 0 {
		t.Errorf("%d transactions are open, %v", open, err)
	}
}
