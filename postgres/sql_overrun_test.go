package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

// An effect that goes on past its bound keeps nothing locked: neither when it
// does nothing, nor in the middle of a statement nobody can cancel from here.
func TestSQLOverrun(t *testing.T) {
	ways := map[string]func(ctx context.Context, tx SQLTx, freed <-chan struct{}) error{
		"idle": func(_ context.Context, _ SQLTx, freed <-chan struct{}) error { <-freed; return nil },
		"prepared": func(ctx context.Context, tx SQLTx, _ <-chan struct{}) error {
			return prepared(ctx, tx, `SELECT pg_sleep(10)`)
		},
		"own context": func(_ context.Context, tx SQLTx, _ <-chan struct{}) error {
			_, err := tx.ExecContext(context.Background(), `SELECT pg_sleep(10)`)
			return err
		},
	}
	onSQL(t, func(t *testing.T, s *sqlShop) {
		s.grace = 100 * time.Millisecond
		for name, stay := range ways {
			t.Run(name, func(t *testing.T) {
				c := keeperCall(name)
				c.Contract.MaxExecution = 500 * time.Millisecond
				freed := make(chan struct{})
				told := make(chan error, 1)
				written := make(chan struct{})
				go func() {
					locked := sync.OnceFunc(func() { close(written) })
					told <- s.do(c, func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
						defer locked()
						if _, err := tx.ExecContext(ctx, s.sql.text(`LOCK TABLE {schema}.orders IN SHARE MODE`)); err != nil {
							return done, err
						}
						err := s.order(ctx, tx, name)
						locked()
						return done, errors.Join(err, stay(ctx, tx, freed))
					})
				}()
				<-written
				soon, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				if _, err := s.raw.Exec(soon, s.sql.text(`INSERT INTO {schema}.orders (item) VALUES ('past')`)); err != nil {
					t.Errorf("the table stays locked: %v", err)
				}
				close(freed)
				if err := <-told; !errors.Is(err, refrain.ErrNotExecuted) {
					t.Errorf("Execute: %v, want %v", err, refrain.ErrNotExecuted)
				}
				s.wantReceipt(t, c, false)
			})
		}
		s.wantItems(t, "past", "past", "past")
	})
}

// A statement ends with the effect's bound, whatever context it was given.
func TestSQLBound(t *testing.T) {
	onSQL(t, func(t *testing.T, s *sqlShop) {
		s.grace = time.Hour
		type valueKey struct{}
		for name, ctxOf := range map[string]func(context.Context) context.Context{
			"the effect's":   func(ctx context.Context) context.Context { return ctx },
			"the background": func(context.Context) context.Context { return context.WithValue(context.Background(), valueKey{}, 1) },
			"its own": func(context.Context) context.Context {
				ctx, cancel := context.WithCancel(context.Background())
				t.Cleanup(cancel)
				return ctx
			},
		} {
			c := keeperCall(name)
			c.Contract.MaxExecution = 100 * time.Millisecond
			err := s.do(c, func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
				_, _ = tx.ExecContext(ctxOf(ctx), `SELECT pg_sleep(10)`)
				return done, nil
			})
			if !errors.Is(err, refrain.ErrNotExecuted) {
				t.Errorf("%s: %v, want %v", name, err, refrain.ErrNotExecuted)
			}
		}
	})
}
