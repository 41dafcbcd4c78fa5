//go:build linux

package charges

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/postgres"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/sqlite"
)

// onFile is the engine that needs no server.
const onFile = "sqlite"

// desk takes payments on one engine, whose transaction's type it hides.
type desk struct {
	http.Handler
	run    func(ctx context.Context) error
	resume func(ctx context.Context, by external.By, ref string) error
	cases  func(ctx context.Context, limit int) ([]external.Case, error)
	store  interface {
		Load(ctx context.Context, ref string) (operation.Operation, time.Time, error)
		Of(ctx context.Context, action string) ([]operation.Operation, error)
		List(ctx context.Context, like operation.Operation, limit int) ([]operation.Operation, error)
	}
	find  func(ctx context.Context, ref string) (record.Record, error)
	raw   *sql.DB // past the engine
	close func(ctx context.Context) error
}

// table is the business table, whose rows are written in the transactions of
// acceptance and of the outcome.
const table = "(ref VARCHAR(40) PRIMARY KEY, state VARCHAR(20) NOT NULL, reference VARCHAR(80) NOT NULL, settled INTEGER NOT NULL)"

func (p *process) payments() string {
	if p.Engine == onFile {
		return "payments"
	}
	return p.Place.Name + ".payments"
}

// open opens the engine where the records are.
func (p *process) open(ctx context.Context) (*desk, error) {
	if p.Engine == onFile {
		db, err := sqlite.Open(p.Place.DSN, sqlite.Options{Now: p.now()})
		if err != nil {
			return nil, err
		}
		raw, err := sql.Open("sqlite3", "file:"+p.Place.DSN+"?_pragma=busy_timeout(5000)&_txlock=immediate")
		if err != nil {
			return nil, err
		}
		return newDesk(p, db, db.Operations(), execSQL, desk{find: db.Find, raw: raw, close: db.Close})
	}
	shop, err := p.Place.Shop(p.Engine)
	if err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(shop.DSN(p.Addr))
	if err != nil {
		return nil, err
	}
	raw := stdlib.OpenDB(*config)
	options := postgres.Options{Schema: p.Place.Name, Notify: true}
	if p.Engine == engines.SQL.Name {
		postgres.ConfigureSQL(config)
		handle := stdlib.OpenDB(*config)
		handle.SetMaxOpenConns(6)
		db, err := postgres.NewSQL(handle, options)
		if err != nil {
			return nil, err
		}
		return newDesk(p, db, db.Operations(), execSQL, desk{find: db.Find, raw: raw, close: func(ctx context.Context) error {
			return errors.Join(db.Close(ctx), handle.Close())
		}})
	}
	wide, err := pgxpool.ParseConfig(shop.DSN(p.Addr))
	if err != nil {
		return nil, err
	}
	wide.MaxConns = 6
	postgres.Configure(wide)
	pool, err := pgxpool.NewWithConfig(ctx, wide)
	if err != nil {
		return nil, err
	}
	db, err := postgres.New(pool, options)
	if err != nil {
		return nil, err
	}
	exec := func(ctx context.Context, tx postgres.Tx, query string, args ...any) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	}
	return newDesk(p, db, db.Operations(), exec, desk{find: db.Find, raw: raw, close: func(ctx context.Context) error {
		defer pool.Close()
		return db.Close(ctx)
	}})
}

func execSQL(ctx context.Context, tx refrain.SQLTx, query string, args ...any) error {
	_, err := tx.ExecContext(ctx, query, args...)
	return err
}

func newDesk[T any](p *process, executor refrain.Executor[T], store operation.Store[T],
	exec func(ctx context.Context, tx T, query string, args ...any) error, d desk) (*desk, error) {
	settle := func(ctx context.Context, tx T, s external.Settled) (record.Result, error) {
		err := exec(ctx, tx, `UPDATE `+p.payments()+` SET state = $1, reference = $2, settled = settled + 1 WHERE ref = $3`,
			s.Operation.State.String(), s.Reply.Reference, s.Operation.Action)
		if err != nil {
			return record.Result{}, err
		}
		if !s.Confirmed {
			return external.JSON(http.StatusPaymentRequired, map[string]string{"declined": s.Operation.Action})
		}
		return external.JSON(http.StatusCreated, map[string]string{"payment": s.Operation.Action, "charge": s.Reply.Reference})
	}
	pace := operation.Pace{First: lease / 10, Most: lease, Budget: p.Budget}
	runner, err := external.New(operation.Store[T](&watched[T]{store, p}), external.Options{
		Providers: map[string]external.Provider{p.Provider: p.client()},
		Lease:     p.Lease, MaxAttempt: p.patient(), Poll: lease / 10, BreakFor: lease, Observer: p,
	}, external.Step[T]{Name: "charge", Provider: p.Provider, Settle: settle, Pace: pace})
	if err != nil {
		return nil, err
	}
	guard := refrainhttp.Guard{
		Principal: func(*http.Request) (refrain.Scope, error) { return refrain.Tenant(p.Tenant), nil },
		Await:     runner.Await,
	}
	d.run, d.resume, d.cases, d.store = runner.Run, runner.Resume, runner.Cases, store
	d.Handler = refrainhttp.Handle(guard, executor, p.contract(), func(_ http.ResponseWriter, r *http.Request, tx T) error {
		input, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		running, _ := refrain.CallFrom(r.Context())
		err = exec(r.Context(), tx, `INSERT INTO `+p.payments()+` (ref, state, reference, settled) VALUES ($1, 'pending', '', 0)`, running.Ref)
		if err != nil {
			return err
		}
		_, err = runner.Accept(r.Context(), tx, external.Intent{Step: "charge", Input: input})
		p.reach(inAccept)
		return err
	})
	return &d, nil
}

// row is the business row of an action.
func (d *desk) row(ctx context.Context, p *process, action string) (state, reference string, settled int, err error) {
	err = d.raw.QueryRowContext(ctx, `SELECT state, reference, settled FROM `+p.payments()+` WHERE ref = $1`, action).Scan(&state, &reference, &settled)
	if err != nil {
		err = fmt.Errorf("the payment %s: %w", strings.TrimSpace(action), err)
	}
	return state, reference, settled, err
}
