package mysql

import (
	"context"
	"database/sql"
)

// ownKey marks the context of a statement of the engine's inside an effect's
// turn: it may write to the engine's tables.
type ownKey struct{}

func isOwn(ctx context.Context) bool { return ctx.Value(ownKey{}) != nil }

// own runs a statement of the engine's in a transaction of the caller's or of an
// effect's, of which it is a part: a failure is the effect's.
func own(ctx context.Context, tx Tx, query string, args ...any) (sql.Result, error) {
	h, lent := tx.(handle)
	if !lent {
		return inlined{tx}.ExecContext(ctx, query, args...)
	}
	ctx = context.WithValue(h.ctx(ctx), ownKey{}, true)
	if !h.guarded {
		if err := h.turn.admit(ctx); err != nil {
			return nil, err
		}
	}
	res, err := inlined{h.conn}.ExecContext(ctx, query, args...)
	if err == nil && !h.guarded {
		h.turn.note(true)
	}
	return res, h.after(err)
}
