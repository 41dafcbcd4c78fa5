package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
)

func unconfigured(c *pgxpool.Config) {
	c.AfterConnect, c.ConnConfig.OnNotice, c.ConnConfig.Tracer = nil, nil, nil
}

// TestGuardRefuses: verbs that are not the effect's are refused in any form pgx
// can send them, and nothing of the effect is kept, whatever it makes of that.
func TestGuardRefuses(t *testing.T) {
	ways := map[string]func(ctx context.Context, tx Tx) error{
		"Commit":   func(ctx context.Context, tx Tx) error { return tx.Commit(ctx) },
		"Rollback": func(ctx context.Context, tx Tx) error { return tx.Rollback(ctx) },
		"SendBatch": func(ctx context.Context, tx Tx) error {
			var b pgx.Batch
			b.Queue(`SELECT 1`)
			b.Queue(`COMMIT`)
			return tx.SendBatch(ctx, &b).Close()
		},
		"Prepare": func(ctx context.Context, tx Tx) error {
			_, err := tx.Prepare(ctx, "c", `COMMIT`)
			return err
		},
		"Query": func(ctx context.Context, tx Tx) error {
			rows, err := tx.Query(ctx, `ROLLBACK`)
			rows.Close()
			return errors.Join(err, rows.Err())
		},
		"QueryRow": func(ctx context.Context, tx Tx) error { return tx.QueryRow(ctx, `END`).Scan() },
		"in a savepoint": func(ctx context.Context, tx Tx) error {
			sp, err := tx.Begin(ctx)
			if err != nil {
				return err
			}
			_, err = sp.Exec(ctx, `COMMIT`)
			return err
		},
	}
	for _, text := range []string{
		`COMMIT`, `commit;`, ` /* a /* b */ */ -- c` + "\n" + `Commit And Chain`, `END`, `ABORT`, `BEGIN`, `START TRANSACTION`,
		`ROLLBACK`, `ROLLBACK WORK`, `PREPARE TRANSACTION 'x'`, `SELECT 1; COMMIT`, `SELECT ';'; COMMIT; BEGIN`,
		`SELECT $q$;$q$; COMMIT`, `CREATE TABLE x (a int)`, `ALTER TABLE x ADD b int`, `DROP TABLE x`, `GRANT SELECT ON x TO public`,
		`SET synchronous_commit = off`, `set session statement_timeout = 1`, `RESET ALL`, `SET ROLE postgres`, `SET LOCAL work_mem = 64; SET search_path = x`,
	} {
		ways[text] = func(ctx context.Context, tx Tx) error {
			_, err := tx.Exec(ctx, text)
			return err
		}
	}
	direct := map[string]func(ctx context.Context, tx Tx) error{
		"Conn().Exec": func(ctx context.Context, tx Tx) error {
			_, err := tx.Conn().Exec(ctx, `COMMIT`)
			return err
		},
		"Conn().Begin": func(ctx context.Context, tx Tx) error {
			_, err := tx.Conn().Begin(ctx)
			return err
		},
		"Conn().Prepare": func(ctx context.Context, tx Tx) error {
			_, err := tx.Conn().Prepare(ctx, "c", `COMMIT`)
			return err
		},
		"Conn().SendBatch": func(ctx context.Context, tx Tx) error {
			var b pgx.Batch
			b.Queue(`COMMIT`)
			return tx.Conn().SendBatch(ctx, &b).Close()
		},
	}
	try := func(t *testing.T, s *shop, name string, way func(context.Context, Tx) error, own bool) {
		t.Helper()
		call := keeperCall(name)
		err := s.run(call, func(ctx context.Context, tx Tx) (refrain.Result, error) {
			if err := s.order(ctx, tx, name); err != nil {
				return done, err
			}
			if err := way(ctx, tx); err == nil || own && !errors.Is(err, refrain.ErrOwned) {
				t.Errorf("%s: %v", name, err)
			}
			return done, nil
		})
		if !errors.Is(err, refrain.ErrOwned) || !errors.Is(err, refrain.ErrEffectFailed) {
			t.Errorf("%s: Execute = %v, want ErrOwned", name, err)
		}
		s.wantItems(t)
		s.wantReceipt(t, call, false)
	}
	s := newShop(t, Options{})
	for name, way := range ways {
		try(t, s, name, way, true)
	}
	for name, way := range direct {
		try(t, s, name, way, false)
	}
	bare := newShop(t, Options{}, unconfigured)
	for name, way := range ways {
		try(t, bare, name, way, true)
	}
	s.wantIdle(t)
	bare.wantIdle(t)
}

// TestGuardProof: an effect that gets past the guard and ends the transaction
// leaves no record: not after COMMIT, and not in a transaction it began anew.
func TestGuardProof(t *testing.T) {
	s := newShop(t, Options{}, unconfigured)
	for _, text := range []string{`COMMIT`, `ROLLBACK`, `COMMIT; BEGIN`, `ROLLBACK; BEGIN`} {
		call := keeperCall(text)
		runs := 0
		err := s.run(call, counted(&runs, func(ctx context.Context, tx Tx) (refrain.Result, error) {
			_, err := tx.Conn().PgConn().Exec(ctx, text).ReadAll()
			return done, err
		}))
		if !errors.Is(err, refrain.ErrOwned) || runs != 1 {
			t.Errorf("%s: Execute = %v after %d runs, want ErrOwned after one", text, err, runs)
		}
		s.wantReceipt(t, call, false)
	}
	s.wantIdle(t)
}

// TestGuardAllows: savepoints in every form, temporary tables, COPY, batches and
// large objects are the effect's to use.
func TestGuardAllows(t *testing.T) {
	s := newShop(t, Options{})
	var kept pgx.LargeObjects
	err := s.run(keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		undone, err := tx.Begin(ctx)
		if err != nil {
			return done, err
		}
		if err := errors.Join(s.order(ctx, undone, "undone"), undone.Rollback(ctx)); err != nil {
			return done, err
		}
		if err := undone.Commit(ctx); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("Commit of a closed savepoint: %v", err)
		}
		err = pgx.BeginFunc(ctx, tx, func(sp pgx.Tx) error { return s.order(ctx, sp, "kept") })
		if err != nil {
			return done, err
		}
		failed := pgx.BeginFunc(ctx, tx, func(sp pgx.Tx) error {
			_, err := sp.Exec(ctx, `SELECT 1 / 0`)
			return err
		})
		if sqlState(failed) != "22012" {
			t.Errorf("a savepoint's error: %v", failed)
		}
		for _, text := range []string{`SAVEPOINT mine`, `ROLLBACK TO SAVEPOINT mine`, `ROLLBACK TO mine`, `RELEASE mine`,
			`CREATE TEMP TABLE mine (a int) ON COMMIT DROP; INSERT INTO mine VALUES (1)`, `SELECT 'COMMIT'`} {
			if _, err := tx.Exec(ctx, text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{s.opts.Schema, "orders"}, []string{"item"}, pgx.CopyFromRows([][]any{{"copied"}})); err != nil {
			return done, err
		}
		var b pgx.Batch
		b.Queue(s.sql.text(`INSERT INTO {schema}.orders VALUES ('queued')`))
		if err := tx.SendBatch(ctx, &b).Close(); err != nil {
			return done, err
		}
		kept = tx.LargeObjects()
		oid, err := kept.Create(ctx, 0)
		if err == nil {
			err = kept.Unlink(ctx, oid)
		}
		return done, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Create(t.Context(), 0); !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("large objects that were kept: %v", err)
	}
	s.wantItems(t, "copied", "kept", "queued")
	s.wantIdle(t)
}

// TestGuardClosesWhatIsOpen: what an effect left unread does not stand in the way
// of its record.
func TestGuardClosesWhatIsOpen(t *testing.T) {
	for name, dress := range map[string]func(*pgxpool.Config){"configured": func(*pgxpool.Config) {}, "unconfigured": unconfigured} {
		s := newShop(t, Options{}, dress)
		var rows pgx.Rows
		for key, leave := range map[string]func(ctx context.Context, tx Tx) error{
			"rows": func(ctx context.Context, tx Tx) (err error) {
				rows, err = tx.Query(ctx, `SELECT generate_series(1, 10000)`)
				rows.Next()
				return err
			},
			"row": func(ctx context.Context, tx Tx) error {
				tx.QueryRow(ctx, `SELECT 1`)
				return nil
			},
			"batch": func(ctx context.Context, tx Tx) error {
				var b pgx.Batch
				b.Queue(`SELECT generate_series(1, 100)`)
				b.Queue(`SELECT 2`)
				tx.SendBatch(ctx, &b)
				return nil
			},
		} {
			err := s.run(keeperCall(key), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				return done, errors.Join(s.order(ctx, tx, key), leave(ctx, tx))
			})
			if err != nil {
				t.Errorf("%s, %s: %v", name, key, err)
			}
		}
		if rows.Next() {
			t.Errorf("%s: rows are read on after the effect", name)
		}
		s.wantItems(t, "batch", "row", "rows")
		s.wantIdle(t)
	}
}

// TestGuardErrorsInWhatIsOpen: an error nobody has read yet is an error.
func TestGuardErrorsInWhatIsOpen(t *testing.T) {
	s := newShop(t, Options{})
	err := s.run(keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		if err := s.order(ctx, tx, "a"); err != nil {
			return done, err
		}
		_, err := tx.Query(ctx, `SELECT 1 / (500 - n) FROM generate_series(1, 1000) n`)
		return done, err
	})
	if !errors.Is(err, refrain.ErrEffectFailed) || sqlState(err) != "22012" {
		t.Errorf("Execute: %v, want the division by zero", err)
	}
	s.wantItems(t)
	s.wantIdle(t)
}

// TestGuardAfterTheEnd: a transaction, a savepoint or a result that was kept is of
// no use afterwards.
func TestGuardAfterTheEnd(t *testing.T) {
	s := newShop(t, Options{})
	var tx, sp Tx
	if err := s.run(keeperCall("k"), func(ctx context.Context, given Tx) (_ refrain.Result, err error) {
		tx = given
		sp, err = given.Begin(ctx)
		return done, err
	}); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, kept := range []Tx{tx, sp} {
		_, execErr := kept.Exec(ctx, `SELECT 1`)
		_, queryErr := kept.Query(ctx, `SELECT 1`)
		_, copyErr := kept.CopyFrom(ctx, pgx.Identifier{"x"}, []string{"a"}, pgx.CopyFromRows(nil))
		_, beginErr := kept.Begin(ctx)
		_, prepareErr := kept.Prepare(ctx, "p", `SELECT 1`)
		large := kept.LargeObjects()
		_, largeErr := large.Create(ctx, 0)
		var b pgx.Batch
		b.Queue(`SELECT 1`)
		for name, err := range map[string]error{"Exec": execErr, "Query": queryErr, "QueryRow": kept.QueryRow(ctx, `SELECT 1`).Scan(new(int)),
			"CopyFrom": copyErr, "Begin": beginErr, "Prepare": prepareErr, "Commit": kept.Commit(ctx), "Rollback": kept.Rollback(ctx),
			"SendBatch": kept.SendBatch(ctx, &b).Close(), "LargeObjects": largeErr} {
			if !errors.Is(err, pgx.ErrTxClosed) {
				t.Errorf("%s after the end: %v", name, err)
			}
		}
	}
	s.wantIdle(t)
}

// TestPoison: a serialization failure or a deadlock ends the attempt, also where
// the effect hides it behind a savepoint.
func TestPoison(t *testing.T) {
	for name, dress := range map[string]func(*pgxpool.Config){"configured": func(*pgxpool.Config) {}, "unconfigured": unconfigured} {
		s := newShop(t, Options{}, dress)
		for _, state := range []string{"40001", "40P01"} {
			runs := 0
			err := s.run(keeperCall(state), counted(&runs, func(ctx context.Context, tx Tx) (refrain.Result, error) {
				if err := s.order(ctx, tx, state); err != nil {
					return done, err
				}
				if runs == 1 {
					_ = pgx.BeginFunc(ctx, tx, func(sp pgx.Tx) error {
						_, err := sp.Exec(ctx, failWith(state))
						return err
					})
				}
				return done, nil
			}))
			if err != nil || runs != 2 {
				t.Errorf("%s, %s: %v after %d runs, want a second one", name, state, err, runs)
			}
		}
		s.wantItems(t, "40001", "40P01")
	}
}

// failWith is a statement that fails with state.
func failWith(state string) string {
	return `DO $$ BEGIN RAISE 'raised' USING ERRCODE = '` + state + `'; END $$`
}

// TestLostConnection: what breaks under an effect leaves nothing, and no
// connection behind.
func TestLostConnection(t *testing.T) {
	s := newShop(t, Options{})
	err := s.run(keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		if err := s.order(ctx, tx, "a"); err != nil {
			return done, err
		}
		if _, err := s.raw.Exec(ctx, `SELECT pg_terminate_backend($1)`, int(tx.Conn().PgConn().PID())); err != nil {
			return done, err
		}
		_, _ = tx.Exec(ctx, `SELECT 1`)
		return done, nil
	})
	wantRow(t, err, "9", refrain.ErrUnavailable)
	s.wantItems(t)
	s.wantIdle(t)
	if err := s.run(keeperCall("k"), s.put("a")); err != nil {
		t.Error(err)
	}
	s.wantItems(t, "a")
}
