package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Take implements [operation.Store]: one round trip to lock what is due, one more
// where there are partitions, and one to write and commit.
func (o operations[T]) Take(ctx context.Context, provider string, limit int, decide func(operation.Seen) operation.Edit) ([]operation.Operation, time.Time, error) {
	if record.Nested(ctx) {
		return nil, time.Time{}, record.ErrNested
	}
	l := o.store.locking(takeText, provider, int64(max(limit, 0)), int64(operation.Format))
	l.some = true
	var written []operation.Operation
	err := o.edit(ctx, l, func(ctx context.Context, t editing[T]) ([]statement, error) {
		if err := o.store.behind(ctx, t.run, provider, l.all); err != nil {
			return nil, err
		}
		w := writing{l: l, channel: o.channel}
		for _, seen := range l.all {
			if err := w.write(seen, decide(shown(seen))); err != nil {
				return nil, err
			}
		}
		written = w.written
		aside, err := l.putAside()
		if err != nil {
			return nil, err
		}
		all, err := w.statements()
		return append(aside, all...), err
	})
	if err != nil {
		return nil, time.Time{}, outcome(err)
	}
	return written, l.now, errors.Join(l.unread...)
}
