package my

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/mysql"

	"github.com/refrain-dev/refrain/proof/bench/measure"
	"github.com/refrain-dev/refrain/proof/bench/naked"
)

// Engine is the engine beside the prototype, with a pool of the same size.
type Engine struct {
	db *mysql.DB
	n  Naked
}

// Open opens it on dsn and preloads count records.
func Open(ctx context.Context, dsn string, n Naked, count int) (*Engine, error) {
	db, err := mysql.Open(dsn, mysql.Options{Connections: Pool})
	if err != nil {
		return nil, err
	}
	e := &Engine{db, n}
	if err := db.Migrate(ctx); err != nil {
		return nil, err
	}
	return e, e.many(ctx, count, func(i int) error { return e.Execute(ctx, naked.Preloaded(i)) })
}

// many calls run for every number below count from 16 goroutines.
func (e *Engine) many(ctx context.Context, count int, run func(i int) error) error {
	const callers = 16
	var wg sync.WaitGroup
	errs := make(chan error, callers)
	for w := range callers {
		wg.Go(func() {
			for i := w; i < count && ctx.Err() == nil; i += callers {
				if err := run(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// Close closes it.
func (e *Engine) Close() error { return e.db.Close(context.Background()) }

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

func effect(ctx context.Context, tx mysql.Tx) (refrain.Result, error) {
	_, err := tx.ExecContext(ctx, effectSQL, effectArgs...)
	return answer, err
}

// Execute runs the bare effect through the engine.
func (e *Engine) Execute(ctx context.Context, key string) error {
	_, err := e.db.Execute(ctx, call(key), effect)
	return err
}

// In runs it in the caller's transaction.
func (e *Engine) In(ctx context.Context, key string) error {
	return e.n.within(ctx, func(tx *sql.Tx) error {
		_, err := e.db.ExecuteIn(ctx, tx, call(key), effect)
		return err
	})
}

// errEffect: a replay ran the effect.
var errEffect = errors.New("the effect ran")

func refuse(context.Context, mysql.Tx) (refrain.Result, error) { return refrain.Result{}, errEffect }

// Cases are the rows of the prototype, of the patterns most services use, and of
// the engine.
func (e *Engine) Cases(preloaded int) []measure.Case {
	fresh := func(name string, run func(context.Context, string) error, key func() string) measure.Case {
		return measure.Case{Name: name, Base: Bare, Op: func(ctx context.Context, _, _ int) error { return run(ctx, key()) }}
	}
	some := func() string { return naked.Preloaded(rand.IntN(preloaded)) }
	return []measure.Case{
		{Name: Bare, Op: func(ctx context.Context, _, _ int) error { return e.n.Bare(ctx) }},
		fresh("naive", e.n.Naive, naked.RandomKey),
		fresh("reserve, then complete", e.n.Reserved, naked.RandomKey),
		fresh("naked", e.n.Execute, naked.RandomKey),
		fresh("execute", e.Execute, naked.RandomKey),
		fresh("execute, time-ordered keys", e.Execute, naked.OrderedKey),
		fresh("execute in the caller's transaction", e.In, naked.RandomKey),
		fresh("naked replay", e.n.Replay, some),
		fresh("replay", func(ctx context.Context, key string) error {
			_, err := e.db.Execute(ctx, call(key), refuse)
			return err
		}, some),
		fresh("conflict", func(ctx context.Context, key string) error {
			other := call(key)
			other.Input = []byte("another request")
			if _, err := e.db.Execute(ctx, other, refuse); !errors.Is(err, refrain.ErrKeyReused) {
				return fmt.Errorf("a conflict ended with %w", err)
			}
			return nil
		}, some),
	}
}

// Redo writes how many bytes of redo log an operation costs, over 4,000 from
// sixteen callers.
func Redo(ctx context.Context, w io.Writer, e *Engine) error {
	if _, err := fmt.Fprintf(w, "#### Redo log per operation\n\n| case | bytes |\n|--|--|\n"); err != nil {
		return err
	}
	written := func() (n int64, err error) {
		err = e.n.DB.QueryRowContext(ctx, `SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'`).Scan(new(string), &n)
		return n, err
	}
	for _, c := range []struct {
		name string
		run  func(context.Context, string) error
	}{
		{Bare, func(ctx context.Context, _ string) error { return e.n.Bare(ctx) }},
		{"usual layout, select, insert, effect, update", e.n.Naive},
		{"execute", e.Execute},
	} {
		before, err := written()
		if err != nil {
			return err
		}
		const measured = 4000
		if err := e.many(ctx, measured, func(int) error { return c.run(ctx, naked.RandomKey()) }); err != nil {
			return err
		}
		after, err := written()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "| %s | %d |\n", c.name, (after-before)/measured); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}
