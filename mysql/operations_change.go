package mysql

import (
	"context"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Change implements [operation.Store]: on a connection of ours one round trip to
// lock the operation and its record, decide's own, and one to write and commit.
func (o operations) Change(ctx context.Context, ref string, decide func(ctx context.Context, tx Tx, seen operation.Seen) (operation.Edit, error)) error {
	switch {
	case record.Nested(ctx):
		return record.ErrNested
	case !record.ValidRef(ref):
		return record.ErrNotFound
	}
	var all []operation.Seen
	first := func() []ask {
		all = nil
		waits := ask{waitingSQL, []any{encodeRef(ref)}, bodyColumn + 1, func(r anyRow) error {
			rec, err := decodeAt(r, true)
			all[0].Record = &rec
			return err
		}}
		return []ask{o.locking(changeSQL, &all, nil, encodeRef(ref)), waits}
	}
	return o.db.editOperations(ctx, first, func(ctx context.Context, e *editing) ([]statement, error) {
		if len(all) == 0 {
			return nil, record.ErrNotFound
		}
		if err := e.lost(ctx, all); err != nil {
			return nil, err
		}
		seen := all[0]
		seen.Now = e.now()
		var edit operation.Edit
		err := e.lendTo(ctx, func(ctx context.Context, tx Tx) (err error) {
			edit, err = decide(ctx, tx, shown(seen))
			return err
		})
		if err != nil {
			return nil, err
		}
		w := writing{now: seen.Now, packet: e.moment.integer(2)}
		if err := w.write(seen, edit); err != nil {
			return nil, err
		}
		return w.statements(), nil
	})
}
