package postgres

import (
	"context"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Change implements [operation.Store]: one round trip to lock the operation and
// its record, decide's own, and one to write and commit.
func (o operations[T]) Change(ctx context.Context, ref string, decide func(ctx context.Context, tx T, seen operation.Seen) (operation.Edit, error)) error {
	switch {
	case record.Nested(ctx):
		return record.ErrNested
	case !record.ValidRef(ref):
		return record.ErrNotFound
	}
	l := o.store.locking(changeText, packRef(ref))
	return outcome(o.edit(ctx, l, func(ctx context.Context, t editing[T]) ([]statement, error) {
		if len(l.all) == 0 {
			return nil, record.ErrNotFound
		}
		seen := l.all[0]
		var edit operation.Edit
		err := t.lend(ctx, func(ctx context.Context, tx T) (err error) {
			edit, err = decide(ctx, tx, shown(seen))
			return err
		})
		if err != nil {
			return nil, err
		}
		w := writing{l: l, channel: o.channel}
		if err := w.write(seen, edit); err != nil {
			return nil, err
		}
		return w.statements()
	}))
}
