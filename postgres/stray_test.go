package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
)

// TestStray lets a goroutine go on with the transaction while its effect returns
// and after that: it must meet neither COMMIT nor the next caller's transaction.
func TestStray(t *testing.T) {
	s := newShop(t, Options{}, func(c *pgxpool.Config) { c.MaxConns = 1 })
	insert := s.sql.text(`INSERT INTO {schema}.orders (item) VALUES ($1)`)
	for i := range 100 {
		key := string(rune('0' + i))
		stop, gone, at := make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
		_ = s.run(keeperCall(key), func(ctx context.Context, tx Tx) (refrain.Result, error) {
			go func() {
				defer close(gone)
				for {
					select {
					case <-stop:
						return
					default:
						_, _ = tx.Exec(context.Background(), insert, "stray")
						select {
						case at <- struct{}{}:
						default:
						}
					}
				}
			}()
			<-at
			return done, nil
		})
		if err := s.run(keeperCall(key+" next"), s.put("next")); err != nil {
			t.Error(err)
		}
		close(stop)
		<-gone
	}
	for what, query := range map[string]string{
		"in another caller's transaction": `SELECT count(*) FROM {schema}.orders a JOIN {schema}.orders b ON a.xmin = b.xmin WHERE a.item = 'stray' AND b.item = 'next'`,
		"without a record":                `SELECT count(*) FROM {schema}.orders a WHERE NOT EXISTS (SELECT 1 FROM {schema}.record r WHERE r.xmin = a.xmin)`,
	} {
		var n int
		if err := s.raw.QueryRow(t.Context(), s.sql.text(query)).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d writes %s, %v", n, what, err)
		}
	}
	s.wantIdle(t)
}

// TestOneAtATime: a callback of what is under way is refused, and swallowing that
// is no success.
func TestOneAtATime(t *testing.T) {
	s := newShop(t, Options{})
	err := s.run(keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		var b pgx.Batch
		b.Queue(`SELECT 1`).Exec(func(pgconn.CommandTag) error {
			if err := s.order(ctx, tx, "inside"); !errors.Is(err, errTwice) {
				t.Errorf("a statement inside a batch: %v", err)
			}
			return nil
		})
		return done, tx.SendBatch(ctx, &b).Close()
	})
	wantOwn(t, err)
	s.wantItems(t)
}
