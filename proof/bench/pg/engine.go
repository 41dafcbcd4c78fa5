package pg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/postgres"

	"github.com/refrain-dev/refrain/proof/bench/measure"
	"github.com/refrain-dev/refrain/proof/bench/naked"
)

// Engine is the engine in its four forms over one pool: the transaction, the
// group, the caller's transaction and database/sql.
type Engine struct {
	pool  *pgxpool.Pool
	db    *postgres.DB
	group *postgres.Group
	std   *sql.DB
	sql   *postgres.SQL
}

// Open opens it on the prototype's pool and preloads count records.
func Open(ctx context.Context, pool *pgxpool.Pool, count int) (*Engine, error) {
	db, err := postgres.New(pool)
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx); err != nil {
		return nil, err
	}
	std := stdlib.OpenDBFromPool(pool)
	std.SetMaxOpenConns(Pool)
	plain, err := postgres.NewSQL(std)
	if err != nil {
		return nil, err
	}
	e := &Engine{pool, db, db.Group(), std, plain}
	var wg sync.WaitGroup
	errs := make(chan error, Pool)
	for w := range Pool {
		wg.Go(func() {
			for i := w; i < count; i += Pool {
				if err := e.Execute(ctx, naked.Preloaded(i)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return nil, err
	}
	_, err = pool.Exec(ctx, `VACUUM ANALYZE`)
	return e, err
}

// Close closes the engines; the pool is the caller's.
func (e *Engine) Close() error {
	ctx := context.Background()
	return errors.Join(e.sql.Close(ctx), e.std.Close(), e.db.Close(ctx))
}

var contract = refrain.Contract{
	Operation: "orders.create", Schema: "1", ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour,
}

func call(key string) refrain.Call {
	return refrain.Call{Contract: contract, Scope: refrain.Tenant("north"), Key: key, Input: naked.Body}
}

var answer = refrain.Result{
	Status: 201, Body: naked.Body, Effect: "/orders/1",
	Header: [][2]string{{"Content-Type", "application/json"}, {"Location", "/orders/1"}},
}

func effect(ctx context.Context, tx pgx.Tx) (refrain.Result, error) {
	_, err := tx.Exec(ctx, effectSQL, effectArgs...)
	return answer, err
}

// Execute runs the bare effect through the engine.
func (e *Engine) Execute(ctx context.Context, key string) error {
	_, err := e.db.Execute(ctx, call(key), effect)
	return err
}

// In runs it in the caller's transaction.
func (e *Engine) In(ctx context.Context, key string) error {
	return pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		_, err := e.db.ExecuteIn(ctx, tx, call(key), effect)
		return err
	})
}

// SQL runs it through database/sql.
func (e *Engine) SQL(ctx context.Context, key string) error {
	_, err := e.sql.Execute(ctx, call(key), func(ctx context.Context, tx refrain.SQLTx) (refrain.Result, error) {
		_, err := tx.ExecContext(ctx, effectSQL, effectArgs...)
		return answer, err
	})
	return err
}

// Known is an effect of the group whose answer needs no row: ids are made by
// the client.
func (e *Engine) Known(ctx context.Context, key string) error {
	_, err := e.group.Execute(ctx, call(key), func(_ context.Context, b *postgres.Batch) (refrain.Result, error) {
		b.Queue(effectSQL, effectArgs...)
		return answer, nil
	})
	return err
}

// Generated reads the id the database made before it answers.
func (e *Engine) Generated(ctx context.Context, key string) error {
	_, err := e.group.Execute(ctx, call(key), func(ctx context.Context, b *postgres.Batch) (refrain.Result, error) {
		var id int64
		b.Queue(withIDSQL, effectArgs...).QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
		if err := b.Send(ctx); err != nil {
			return refrain.Result{}, err
		}
		made := answer
		made.Effect = fmt.Sprint("/orders/", id)
		return made, nil
	})
	return err
}

// errEffect: a replay ran the effect.
var errEffect = errors.New("the effect ran")

func refuse(context.Context, pgx.Tx) (refrain.Result, error) { return refrain.Result{}, errEffect }

// Replay asks for a preloaded record.
func (e *Engine) Replay(ctx context.Context, preloaded int) error {
	_, err := e.db.Execute(ctx, call(naked.Preloaded(rand.IntN(preloaded))), refuse)
	return err
}

// Conflict sends another request under a preloaded key.
func (e *Engine) Conflict(ctx context.Context, preloaded int) error {
	other := call(naked.Preloaded(rand.IntN(preloaded)))
	other.Input = []byte("another request")
	if _, err := e.db.Execute(ctx, other, refuse); !errors.Is(err, refrain.ErrKeyReused) {
		return fmt.Errorf("a conflict ended with %w", err)
	}
	return nil
}

// Cases are the engine's rows.
func (e *Engine) Cases(preloaded int) []measure.Case {
	fresh := func(name string, run func(context.Context, string) error, key func() string) measure.Case {
		return measure.Case{Name: name, Base: Bare, Op: func(ctx context.Context, _, _ int) error { return run(ctx, key()) }}
	}
	return []measure.Case{
		fresh("execute", e.Execute, naked.RandomKey),
		fresh("execute, time-ordered keys", e.Execute, naked.OrderedKey),
		fresh("execute in the caller's transaction", e.In, naked.RandomKey),
		fresh("group, ids made by the client", e.Known, naked.RandomKey),
		fresh("group, ids made by the database", e.Generated, naked.RandomKey),
		{Name: "bare, database/sql", Base: Bare, Op: func(ctx context.Context, _, _ int) error { return e.bareSQL(ctx) }},
		fresh("execute, database/sql", e.SQL, naked.RandomKey),
		{Name: "replay", Base: Bare, Op: func(ctx context.Context, _, _ int) error { return e.Replay(ctx, preloaded) }},
		{Name: "conflict", Base: Bare, Op: func(ctx context.Context, _, _ int) error { return e.Conflict(ctx, preloaded) }},
	}
}

func (e *Engine) bareSQL(ctx context.Context) error {
	tx, err := e.std.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, effectSQL, effectArgs...); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
