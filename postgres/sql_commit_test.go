package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// gated makes every COMMIT of an order wait for open, by a deferred trigger.
func (s *sqlShop) gated(t *testing.T) (open func()) {
	t.Helper()
	s.past(t, `CREATE FUNCTION {schema}.gate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_xact_lock_shared(hashtextextended('{schema}', 1)); RETURN NULL; END $$`)
	s.past(t, `CREATE CONSTRAINT TRIGGER gate AFTER INSERT ON {schema}.orders DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION {schema}.gate()`)
	conn, err := s.raw.Acquire(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), s.sql.text(`SELECT pg_advisory_lock(hashtextextended('{schema}', 1))`)); err != nil {
		t.Fatal(err)
	}
	open = sync.OnceFunc(func() {
		_, err := conn.Exec(context.Background(), s.sql.text(`SELECT pg_advisory_unlock(hashtextextended('{schema}', 1))`))
		if err != nil {
			t.Error(err)
		}
		conn.Release()
	})
	t.Cleanup(open)
	return open
}

// waiting counts the COMMITs at the gate.
func (s *sqlShop) waiting(t *testing.T) (n int) {
	t.Helper()
	err := s.raw.QueryRow(context.Background(), s.sql.text(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
AND (classid::int8 << 32 | objid::int8) = hashtextextended('{schema}', 1)`)).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Neither the caller's cancellation nor a statement timeout reaches COMMIT.
func TestSQLCommitIsNotCut(t *testing.T) {
	for _, driver := range sqlDrivers {
		t.Run(driver, func(t *testing.T) {
			s := newSQLShop(t, driver, Options{}, func(url string) *sql.DB {
				pool, err := sql.Open(driver, url+"&options=-cstatement_timeout%3D1500")
				if err != nil {
					t.Fatal(err)
				}
				return pool
			})
			open := s.gated(t)
			ctx, cancel := context.WithCancel(t.Context())
			told := make(chan error, 1)
			go func() {
				_, err := s.Execute(ctx, keeperCall("k"), s.put("k"))
				told <- err
			}()
			eventually(t, "COMMIT waits", func() bool { return s.waiting(t) == 1 })
			cancel()
			passed := time.Now()
			eventually(t, "the statement timeout passes", func() bool { return time.Since(passed) > 2*time.Second })
			open()
			if err := <-told; err != nil {
				t.Errorf("Execute: %v", err)
			}
			s.wantItems(t, "k")
			s.wantReceipt(t, keeperCall("k"), true)
		})
	}
}

// A caller is released after CommitWait, and the COMMIT goes on; too many of them
// let nothing begin.
func TestSQLCommitWait(t *testing.T) {
	for _, driver := range sqlDrivers {
		t.Run(driver, func(t *testing.T) {
			s := newSQLShop(t, driver, Options{}, func(url string) *sql.DB {
				pool, err := sql.Open(driver, url)
				if err != nil {
					t.Fatal(err)
				}
				pool.SetMaxOpenConns(LateCommits + 2)
				return pool
			})
			if err := s.Register(t.Context(), keeperContract); err != nil { // the first of an operation keeps the others waiting
				t.Fatal(err)
			}
			open := s.gated(t)
			defer open()
			var calls []refrain.Call
			for i := range LateCommits {
				c := keeperCall(fmt.Sprint(i))
				c.Contract.CommitWait = 50 * time.Millisecond
				calls = append(calls, c)
				if err := s.do(c, s.put(c.Key)); !errors.Is(err, refrain.ErrCommitUnknown) {
					t.Errorf("Execute: %v, want %v", err, refrain.ErrCommitUnknown)
				}
			}
			runs := 0
			err := s.do(keeperCall("more"), func(context.Context, SQLTx) (refrain.Result, error) { runs++; return done, nil })
			if !errors.Is(err, refrain.ErrUnavailable) || runs != 0 {
				t.Errorf("beyond: %v after %d runs, want %v", err, runs, refrain.ErrUnavailable)
			}
			again := calls[0]
			again.Contract.Wait = 20 * time.Millisecond
			if err := s.do(again, s.put("twice")); !errors.Is(err, refrain.ErrUnavailable) && !errors.Is(err, refrain.ErrInProgress) {
				t.Errorf("a repeat meanwhile: %v", err)
			}
			open()
			eventually(t, "the COMMITs are answered", func() bool { return s.late.n.Load() == 0 })
			for _, c := range calls {
				out, err := s.Execute(t.Context(), c, s.put("twice"))
				if err != nil || !out.Replayed {
					t.Errorf("a repeat: %+v, %v", out, err)
				}
			}
			s.wantItems(t, "0", "1", "2", "3")
		})
	}
}

// A deferred constraint fails COMMIT: that is the effect's failure, once.
func TestSQLDeferred(t *testing.T) {
	onSQL(t, func(t *testing.T, s *sqlShop) {
		s.past(t, `ALTER TABLE {schema}.orders ADD CONSTRAINT one UNIQUE (item) DEFERRABLE INITIALLY DEFERRED`)
		runs := 0
		err := s.do(keeperCall("k"), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
			runs++
			return done, errors.Join(s.order(ctx, tx, "k"), s.order(ctx, tx, "k"))
		})
		if !errors.Is(err, refrain.ErrEffectFailed) || runs != 1 {
			t.Errorf("%v after %d runs, want %v", err, runs, refrain.ErrEffectFailed)
		}
		s.wantReceipt(t, keeperCall("k"), false)
		s.wantItems(t)
	})
}

// lossy is a driver that loses answers to COMMIT: commit sends it.
type lossy struct {
	driver.Connector
	answer answering
}

// answering sends COMMIT, or not, and answers it. A connection it abandons is
// its to close.
type answering = func(commit func() error, conn *lossyConn) error

type lossyConn struct {
	fullConn
	answer    answering
	abandoned bool
}

func (c *lossyConn) Close() error {
	if c.abandoned {
		return nil
	}
	return c.fullConn.Close()
}

// fullConn is what lib/pq's connections can do and the tests need.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.SessionResetter
	driver.Validator
}

type lossyTx struct {
	driver.Tx
	conn *lossyConn
}

func (l lossy) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := l.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &lossyConn{fullConn: conn.(fullConn), answer: l.answer}, nil
}

func (c *lossyConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.fullConn.BeginTx(context.WithoutCancel(ctx), opts)
	return lossyTx{tx, c}, err
}

func (tx lossyTx) Commit() error { return tx.conn.answer(tx.Tx.Commit, tx.conn) }

func newLossy(t *testing.T, answer answering) *sqlShop {
	return newSQLShop(t, "postgres", Options{}, func(url string) *sql.DB {
		connector, err := pq.NewConnector(url)
		if err != nil {
			t.Fatal(err)
		}
		return sql.OpenDB(lossy{connector, answer})
	})
}

// After a COMMIT without an answer the engine finds out for itself.
func TestSQLAnswerLost(t *testing.T) {
	for name, happened := range map[string]bool{"committed": true, "rolled back": false} {
		t.Run(name, func(t *testing.T) {
			losses := 0
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := newLossy(t, func(commit func() error, _ *lossyConn) error {
				if losses == 0 {
					return commit()
				}
				losses--
				if happened {
					if err := commit(); err != nil {
						t.Error(err)
					}
					cancel() // which leaves the question open
				}
				return io.ErrUnexpectedEOF
			})
			losses = 1
			runs := 0
			out, err := s.Execute(ctx, keeperCall("k"), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
				runs++
				return s.put("k")(ctx, tx)
			})
			if err != nil || out.Replayed || happened && runs != 1 || !happened && runs != 2 {
				t.Errorf("%+v, %v after %d runs", out, err, runs)
			}
			s.wantItems(t, "k")
			again, err := s.Execute(t.Context(), keeperCall("k"), s.put("twice"))
			if err != nil || !again.Replayed || again.Ref != out.Ref {
				t.Errorf("a repeat: %+v, %v", again, err)
			}
		})
	}
}

// While the old transaction lives nobody can tell, and the caller's leaving does
// not make it known.
func TestSQLAnswerLostAndUnderWay(t *testing.T) {
	var s *sqlShop
	var late sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	losing := false
	s = newLossy(t, func(commit func() error, conn *lossyConn) error {
		if !losing {
			return commit()
		}
		losing, conn.abandoned = false, true
		late.Go(func() { _ = errors.Join(commit(), conn.fullConn.Close()) })
		eventually(t, "COMMIT waits", func() bool { return s.waiting(t) == 1 })
		cancel()
		return io.ErrUnexpectedEOF
	})
	open := s.gated(t)
	losing = true
	c := keeperCall("k")
	c.Contract.CommitWait = 300 * time.Millisecond
	runs := 0
	_, err := s.Execute(ctx, c, func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
		runs++
		return s.put("k")(ctx, tx)
	})
	if !errors.Is(err, refrain.ErrCommitUnknown) || runs != 1 {
		t.Errorf("%v after %d runs, want %v", err, runs, refrain.ErrCommitUnknown)
	}
	open()
	late.Wait()
	eventually(t, "it is committed", func() bool {
		items, err := s.items(t.Context())
		return err == nil && len(items) == 1
	})
	out, err := s.Execute(t.Context(), keeperCall("k"), s.put("twice"))
	if err != nil || !out.Replayed {
		t.Errorf("a repeat: %+v, %v", out, err)
	}
	s.wantItems(t, "k")
}

// A session that is ended at COMMIT is no answer.
func TestSQLTerminatedAtCommit(t *testing.T) {
	onSQL(t, func(t *testing.T, s *sqlShop) {
		open := s.gated(t)
		told := make(chan error, 1)
		runs := 0
		go func() {
			told <- s.do(keeperCall("k"), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
				runs++
				return s.put("k")(ctx, tx)
			})
		}()
		eventually(t, "COMMIT waits", func() bool { return s.waiting(t) == 1 })
		s.past(t, `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
AND (classid::int8 << 32 | objid::int8) = hashtextextended('{schema}', 1)`)
		eventually(t, "it runs again", func() bool { return s.waiting(t) == 1 })
		open()
		if err := <-told; err != nil || runs != 2 {
			t.Errorf("%v after %d runs, want success at the second", err, runs)
		}
		s.wantItems(t, "k")
	})
}

// A warning that the wait for a standby was given up is heard on connections
// that went through ConfigureSQL: row 10.
func TestSQLHears(t *testing.T) {
	s := newSQLShop(t, "pgx", Options{}, configured)
	s.past(t, `CREATE FUNCTION {schema}.warn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE WARNING 'canceling wait for synchronous replication due to user request'; RETURN NULL; END $$`)
	s.past(t, `CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON {schema}.orders DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION {schema}.warn()`)
	err := s.do(keeperCall("k"), s.put("k"))
	var refusal *record.Error
	if !errors.As(err, &refusal) || refusal.Row != "10" || !errors.Is(err, errUnconfirmed) {
		t.Errorf("Execute: %v, want row 10 and %v", err, errUnconfirmed)
	}
	out, err := s.Execute(t.Context(), keeperCall("k"), s.put("twice"))
	if err != nil || !out.Replayed { // no standby is waited for here
		t.Errorf("a repeat: %+v, %v", out, err)
	}
	if err := s.do(keeperCall("silent"), func(context.Context, SQLTx) (refrain.Result, error) { return done, nil }); err != nil {
		t.Errorf("a COMMIT after it: %v", err)
	}
	s.wantItems(t, "k")
}
