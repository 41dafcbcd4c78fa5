package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// unsendable is an argument no driver can encode.
var unsendable = make(chan int)

// missing are statements that fail before the server is asked, so that it does
// not abort the transaction.
var missing = map[string]func(ctx context.Context, tx Tx, insert string) error{
	"context": func(ctx context.Context, tx Tx, insert string) error {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err := tx.Exec(ended, insert, "rest")
		return err
	},
	"argument": func(ctx context.Context, tx Tx, insert string) error {
		_, err := tx.Exec(ctx, insert, unsendable)
		return err
	},
	"query": func(ctx context.Context, tx Tx, insert string) error {
		var item string
		return tx.QueryRow(ctx, insert+" RETURNING item", unsendable).Scan(&item)
	},
	"batch": func(ctx context.Context, tx Tx, insert string) error {
		var b pgx.Batch
		b.Queue(insert, unsendable)
		return tx.SendBatch(ctx, &b).Close()
	},
	"batch's context": func(ctx context.Context, tx Tx, insert string) error {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		var b pgx.Batch
		b.Queue(insert, "rest")
		return tx.SendBatch(ended, &b).Close()
	},
}

// wantOwn demands the effect's own failure, of which nothing is kept.
func wantOwn(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, record.HandlerFailed) || !errors.Is(err, errAborted) {
		t.Errorf("%v; want handler-failed for a swallowed error", err)
	}
}

func TestSwallowedBeforeTheServer(t *testing.T) {
	for _, dress := range []func(*pgxpool.Config){func(*pgxpool.Config) {}, unconfigured} {
		s := newShop(t, Options{}, dress)
		insert := s.sql.text(`INSERT INTO {schema}.orders (item) VALUES ($1)`)
		for name, miss := range missing {
			half := func(ctx context.Context, tx Tx) (refrain.Result, error) {
				if err := s.order(ctx, tx, "half"); err != nil {
					return done, err
				}
				if miss(ctx, tx, insert) == nil {
					t.Errorf("%s: no error", name)
				}
				return done, nil
			}
			wantOwn(t, s.run(keeperCall(name), half))
			s.wantReceipt(t, keeperCall(name), false)

			tx := s.begun(t, pgx.ReadCommitted)
			_, err := s.ExecuteIn(t.Context(), tx, keeperCall(name), half)
			wantOwn(t, err)
			if err := tx.Commit(t.Context()); err != nil {
				t.Errorf("%s: the caller's COMMIT: %v", name, err)
			}
			s.wantReceipt(t, keeperCall(name), false)
			if err := s.run(keeperCall("savepoint "+name), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				if err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return miss(ctx, tx, insert) }); err == nil {
					t.Errorf("%s: no error", name)
				}
				return done, nil
			}); err != nil {
				t.Errorf("%s, in a savepoint that was rolled back: %v", name, err)
			}
		}
		s.wantItems(t)
		s.wantIdle(t)
	}
}

// TestSwallowedCancellation: the caller goes away between two statements, and the
// effect does not mind.
func TestSwallowedCancellation(t *testing.T) {
	s := newShop(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Execute(ctx, keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		if err := s.order(ctx, tx, "half"); err != nil {
			return done, err
		}
		cancel()
		_ = s.order(ctx, tx, "rest")
		return done, nil
	})
	wantOwn(t, err)
	s.wantItems(t)
	s.wantReceipt(t, keeperCall("k"), false)
}

func TestSwallowedSend(t *testing.T) {
	s := newShop(t, Options{})
	group := s.Group()
	insert := s.sql.text(`INSERT INTO {schema}.orders (item) VALUES ($1)`)
	run := func(key string, effect func(context.Context, *Batch) (refrain.Result, error)) error {
		_, err := group.Execute(t.Context(), keeperCall(key), effect)
		return err
	}
	for _, how := range []string{"alone", "in a group"} { // the first success makes groups possible
		wantOwn(t, run("callback "+how, func(ctx context.Context, b *Batch) (refrain.Result, error) {
			b.Queue(insert, "half")
			b.Queue(`SELECT 1`).Query(func(pgx.Rows) error { return errors.New("no") })
			_ = b.Send(ctx)
			return done, nil
		}))
		wantOwn(t, run("argument "+how, func(ctx context.Context, b *Batch) (refrain.Result, error) {
			b.Queue(insert, "half")
			if err := b.Send(ctx); err != nil {
				return done, err
			}
			b.Queue(insert, unsendable)
			_ = b.Send(ctx)
			return done, nil
		}))
		if err := run("success "+how, func(context.Context, *Batch) (refrain.Result, error) { return done, nil }); err != nil {
			t.Error(err)
		}
	}
	s.wantItems(t)
}

func TestSQLSwallowedBeforeTheServer(t *testing.T) {
	for _, driver := range []string{"pgx", "postgres"} {
		s := newSQLShop(t, driver, Options{})
		insert := s.sql.text(`INSERT INTO {schema}.orders (item) VALUES ($1)`)
		for name, miss := range map[string]func(ctx context.Context, tx SQLTx) error{
			"context": func(ctx context.Context, tx SQLTx) error {
				ended, cancel := context.WithCancel(ctx)
				cancel()
				_, err := tx.ExecContext(ended, insert, "rest")
				return err
			},
			"argument": func(ctx context.Context, tx SQLTx) error {
				_, err := tx.ExecContext(ctx, insert, unsendable)
				return err
			},
		} {
			wantOwn(t, s.do(keeperCall(name), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
				if err := s.order(ctx, tx, "half"); err != nil {
					return done, err
				}
				if miss(ctx, tx) == nil {
					t.Errorf("%s: no error", name)
				}
				return done, nil
			}))
			s.wantReceipt(t, keeperCall(name), false)
		}
		s.wantItems(t)
	}
}
