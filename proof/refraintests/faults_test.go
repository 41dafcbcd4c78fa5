package refraintests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refraintest"
	"github.com/refrain-dev/refrain/sqlite"
)

type effect = func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error)

var done = refrain.Result{Status: 201}

const insert = `INSERT INTO orders (item) VALUES (?)`

func put(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
	_, err := tx.ExecContext(ctx, insert, "tea")
	return done, err
}

func TestEffectFaults(t *testing.T) {
	t.Parallel()
	mails, number := 0, 0
	var keptTx sqlite.Tx
	var keptStmt *sql.Stmt
	tests := []struct {
		name   string
		effect effect
		report string
	}{
		{"numbers orders in memory", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			number++
			_, err := tx.ExecContext(ctx, `INSERT INTO orders (id, item) VALUES (?, 'tea')`, number)
			return refrain.Result{Body: fmt.Append(nil, number)}, err
		}, `the second run answers otherwise than the first, although that one was rolled back: the body is "2", it was "1"`},
		{"sends a mail", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			mails++
			return put(ctx, tx)
		}, `Probe told 0 before it, 1 after it`},
		{"swallows the error of Exec", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			_, _ = tx.ExecContext(ctx, `UPDATE prices SET cents = cents + 1`)
			return put(ctx, tx)
		}, `statement 1, "UPDATE prices SET cents = cents + 1", failed and the effect reported success all the same`},
		{"takes a failed QueryRow for no row", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			var cents int
			if tx.QueryRowContext(ctx, `SELECT cents FROM prices WHERE item = ?`, "tea").Scan(&cents) != nil {
				cents = 0
			}
			return put(ctx, tx)
		}, `statement 1, "SELECT cents FROM prices WHERE item = ?", failed and the effect reported success all the same`},
		{"forgets rows.Err", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			rows, err := tx.QueryContext(ctx, `SELECT item FROM prices`)
			if err != nil {
				return done, err
			}
			defer rows.Close()
			for rows.Next() {
			}
			return done, nil
		}, `statement 2, "read SELECT item FROM prices", failed and the effect reported success all the same`},
		{"forgets rows.Err when its context ends", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			rows, err := tx.QueryContext(ctx, `SELECT item FROM prices`)
			if err != nil {
				return done, err
			}
			defer rows.Close()
			for rows.Next() {
			}
			if err := rows.Err(); err != nil && !errors.Is(err, context.Canceled) {
				return done, err
			}
			return done, nil
		}, `the context ended before statement 2, "read SELECT item FROM prices", and the effect reported success`},
		{"leaves rows open", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			rows, err := tx.QueryContext(ctx, `SELECT item FROM prices`)
			if err != nil {
				return done, err
			}
			rows.Next()
			return done, rows.Err()
		}, `the rows of "SELECT item FROM prices" were left open`},
		{"leaves rows open when a later statement fails", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			rows, err := tx.QueryContext(ctx, `SELECT item FROM prices`)
			if err != nil {
				return done, err
			}
			rows.Next()
			if err := rows.Err(); err != nil {
				return done, err
			}
			if _, err := put(ctx, tx); err != nil {
				return done, err
			}
			return done, rows.Close()
		}, `the rows of "SELECT item FROM prices" were left open`},
		{"does without a prepared statement", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			stmt, err := tx.PrepareContext(ctx, insert)
			if err != nil {
				return done, nil
			}
			defer stmt.Close()
			_, err = stmt.ExecContext(ctx, "tea")
			return done, err
		}, `statement 1, "prepare INSERT INTO orders (item) VALUES (?)", failed and the effect reported success`},
		{"swallows the error of a prepared statement", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			stmt, err := tx.PrepareContext(ctx, insert)
			if err != nil {
				return done, err
			}
			defer stmt.Close()
			_, _ = stmt.ExecContext(ctx, "tea")
			return done, nil
		}, `statement 2, "INSERT INTO orders (item) VALUES (?)", failed and the effect reported success`},
		{"reads a prepared statement carelessly", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			stmt, err := tx.PrepareContext(ctx, `SELECT cents FROM prices WHERE item = ?`)
			if err != nil {
				return done, err
			}
			defer stmt.Close()
			var cents int
			_ = stmt.QueryRowContext(ctx, "tea").Scan(&cents)
			return put(ctx, tx)
		}, `statement 2, "SELECT cents FROM prices WHERE item = ?", failed and the effect reported success`},
		{"executes a prepared statement without a context", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			stmt, err := tx.PrepareContext(ctx, insert)
			if err != nil {
				return done, err
			}
			defer stmt.Close()
			_, err = stmt.Exec("tea")
			return done, err
		}, `the statement "INSERT INTO orders (item) VALUES (?)" ran on a context that is not the effect's`},
		{"queries in the background", func(_ context.Context, tx sqlite.Tx) (refrain.Result, error) {
			var n int
			return done, tx.QueryRowContext(context.Background(), `SELECT count(*) FROM orders`).Scan(&n)
		}, `the statement "SELECT count(*) FROM orders" ran on a context that is not the effect's`},
		{"panics on a nil result", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			res, _ := tx.ExecContext(ctx, insert, "tea")
			_, err := res.LastInsertId()
			return done, err
		}, `failed and the effect panicked: runtime error: invalid memory address or nil pointer dereference`},
		{"refuses for ever", refraintest.FromDo(func(ctx context.Context, tx sqlite.Tx) (int, error) {
			_, err := tx.ExecContext(ctx, insert, "tea")
			return 0, refrain.Reject(err)
		}), `failed and the effect recorded a refusal`},
		{"keeps its transaction", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			if keptTx != nil {
				_, _ = keptTx.ExecContext(ctx, `DELETE FROM lines`)
			}
			keptTx = tx
			return put(ctx, tx)
		}, `the statement "DELETE FROM lines" came after the effect had returned`},
		{"keeps a prepared statement", func(ctx context.Context, tx sqlite.Tx) (_ refrain.Result, err error) {
			if keptStmt == nil {
				keptStmt, err = tx.PrepareContext(ctx, insert)
			}
			if err == nil {
				_, err = keptStmt.ExecContext(ctx, "tea")
			}
			return done, err
		}, `the statement "INSERT INTO orders (item) VALUES (?)" came after the effect had returned`},
		{"leaves a goroutine its transaction", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			go func() {
				<-ctx.Done()
				_, _ = tx.ExecContext(context.WithoutCancel(ctx), `DELETE FROM lines`)
			}()
			return put(ctx, tx)
		}, `the statement "DELETE FROM lines" came after the effect had returned`},
		{"ends the transaction and ignores the refusal", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			if _, err := put(ctx, tx); err != nil {
				return done, err
			}
			_, _ = tx.ExecContext(ctx, `COMMIT`)
			return done, nil
		}, `the effect reported success although its transaction had become unusable`},
		{"breaks a rule that is checked at COMMIT", func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
			_, err := tx.ExecContext(ctx, `INSERT INTO lines (order_id) VALUES (999)`)
			return done, err
		}, `the effect reported success and its transaction did not commit`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t}
			config := refraintest.EffectConfig[sqlite.Tx]{}
			if tt.name == "sends a mail" {
				config.Probe = func() any { return mails }
			}
			refraintest.Effect(r, openShop(t, nil), call(), tt.effect, config)
			r.want(t, tt.report)
		})
	}
}
