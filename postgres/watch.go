package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// watch is a tracer that sees every statement of a configured connection, also
// those an effect issues through tx.Conn(). A tracer cannot refuse a statement,
// but it can end the statement's context before it is sent.
type watch struct{}

func turnOf(conn *pgx.Conn) *turn {
	if h := hooksOf(conn); h != nil {
		return h.turn.Load()
	}
	return nil
}

func admitted(ctx context.Context, conn *pgx.Conn, texts ...string) context.Context {
	t := turnOf(conn)
	if t == nil {
		return ctx
	}
	if err := t.admit(texts...); err != nil {
		ended, cancel := context.WithCancelCause(ctx)
		cancel(err)
		return ended
	}
	return ctx
}

func saw(ctx context.Context, conn *pgx.Conn, tag pgconn.CommandTag, err error) {
	if t := turnOf(conn); t != nil {
		t.saw(ctx, tag, err)
	}
}

func (watch) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return admitted(ctx, conn, data.SQL)
}

func (watch) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryEndData) {
	saw(ctx, conn, data.CommandTag, data.Err)
}

func (watch) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	return admitted(ctx, conn, textsOf(data.Batch)...)
}

func (watch) TraceBatchQuery(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchQueryData) {
	saw(ctx, conn, data.CommandTag, data.Err)
}

func (watch) TraceBatchEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchEndData) {
	saw(ctx, conn, pgconn.CommandTag{}, data.Err)
}

func (watch) TraceCopyFromStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	return admitted(ctx, conn)
}

func (watch) TraceCopyFromEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceCopyFromEndData) {
	saw(ctx, conn, data.CommandTag, data.Err)
}

func (watch) TracePrepareStart(ctx context.Context, conn *pgx.Conn, data pgx.TracePrepareStartData) context.Context {
	return admitted(ctx, conn, data.SQL)
}

func (watch) TracePrepareEnd(ctx context.Context, conn *pgx.Conn, data pgx.TracePrepareEndData) {
	saw(ctx, conn, pgconn.CommandTag{}, data.Err)
}

func textsOf(b *pgx.Batch) []string {
	texts := make([]string, len(b.QueuedQueries))
	for i, q := range b.QueuedQueries {
		texts[i] = q.SQL
	}
	return texts
}
