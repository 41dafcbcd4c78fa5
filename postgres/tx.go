package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Tx is what an effect writes with. It is valid until the effect returns, and so
// is everything made from it. Begin makes a savepoint, whose Commit and Rollback
// work; those of the transaction itself answer [refrain.ErrOwned]. So do, as a
// guard rail, statements that begin or end transactions or change the schema, in
// any form pgx can send them; SAVEPOINT, ROLLBACK TO and RELEASE are fine. A
// refused statement, a serialization failure, a deadlock or a lost connection
// makes the transaction of no more use, whatever the effect makes of the error. A
// statement that failed otherwise and is passed over is the effect's own failure,
// also where it never reached the server, unless the savepoint that Begin made
// around it was rolled back.
type Tx = pgx.Tx

// handle is the transaction as the effect has it.
type handle struct {
	inner  pgx.Tx
	t      *turn
	nested bool // a savepoint
	whole  bool // no statement had been missed when it was made
}

func (h *handle) Begin(ctx context.Context) (pgx.Tx, error) {
	if err := h.t.enter(); err != nil {
		return nil, err
	}
	defer h.t.leave()
	sp, err := h.inner.Begin(h.t.bound(ctx))
	h.t.sent(ctx, pgconn.CommandTag{}, err)
	if err != nil {
		return nil, err
	}
	return &handle{inner: sp, t: h.t, nested: true, whole: h.t.whole()}, nil
}

func (h *handle) Commit(ctx context.Context) error { return h.finish(ctx, "COMMIT", h.inner.Commit) }
func (h *handle) Rollback(ctx context.Context) error {
	return h.finish(ctx, "ROLLBACK", h.inner.Rollback)
}

func (h *handle) finish(ctx context.Context, what string, savepoint func(context.Context) error) error {
	if !h.nested {
		return h.t.refuse(what)
	}
	if err := h.t.enter(); err != nil {
		return err
	}
	defer h.t.leave()
	err := savepoint(h.t.bound(ctx))
	h.t.saw(ctx, pgconn.CommandTag{}, err)
	if err == nil && what == "ROLLBACK" && h.whole {
		h.t.forgive() // what was missed would have been rolled back as well
	}
	return err
}

func (h *handle) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := h.t.enter(sql); err != nil {
		return pgconn.CommandTag{}, err
	}
	defer h.t.leave()
	tag, err := h.inner.Exec(h.t.bound(ctx), sql, args...)
	h.t.sent(ctx, tag, err)
	return tag, err
}

func (h *handle) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if err := h.t.enter(sql); err != nil {
		return nil, err
	}
	defer h.t.leave()
	sd, err := h.inner.Prepare(h.t.bound(ctx), name, sql)
	h.t.sent(ctx, pgconn.CommandTag{}, err)
	return sd, err
}

func (h *handle) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, source pgx.CopyFromSource) (int64, error) {
	if err := h.t.enter(); err != nil {
		return 0, err
	}
	defer h.t.leave()
	n, err := h.inner.CopyFrom(h.t.bound(ctx), table, columns, source)
	h.t.sent(ctx, pgconn.NewCommandTag("COPY"), err)
	if n > 0 {
		h.t.mu.Lock()
		h.t.wrote = true
		h.t.mu.Unlock()
	}
	return n, err
}

// SendBatch counts as a write: only the effect sees what its statements did.
func (h *handle) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if err := h.t.enter(textsOf(b)...); err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	defer h.t.leave()
	br := h.inner.SendBatch(h.t.bound(ctx), b)
	h.t.mu.Lock()
	h.t.wrote = true
	h.t.mu.Unlock()
	watched := &watchedBatch{BatchResults: br, ctx: ctx, t: h.t}
	h.t.opened(func() error {
		if !watched.told {
			_ = watched.tell()
		}
		return nil
	})
	return watched
}

// watchedBatch tells the turn once how it ended.
type watchedBatch struct {
	pgx.BatchResults
	ctx  context.Context
	t    *turn
	told bool
}

func (b *watchedBatch) Close() error {
	if !b.t.busy.TryLock() {
		return errTwice
	}
	defer b.t.leave()
	return b.tell()
}

// tell is Close for whoever has the connection.
func (b *watchedBatch) tell() error {
	err := b.BatchResults.Close()
	if !b.told {
		b.told = true
		b.t.saw(b.ctx, pgconn.CommandTag{}, err)
	}
	return err
}

func (h *handle) LargeObjects() pgx.LargeObjects {
	h.t.mu.Lock()
	defer h.t.mu.Unlock()
	if h.t.standing() != nil {
		return closedTx().LargeObjects()
	}
	h.t.large = true
	return h.inner.LargeObjects()
}

// closedTx is a transaction of pgx's own that answers pgx.ErrTxClosed.
func closedTx() pgx.Tx {
	b := new(pgx.Batch)
	b.BeginTx(pgx.TxOptions{})
	return pgx.FailedBatchResults(b, pgx.ErrTxClosed).Tx()
}

func (h *handle) Conn() *pgx.Conn { return h.inner.Conn() }
