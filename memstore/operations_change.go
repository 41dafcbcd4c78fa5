package memstore

import (
	"context"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Change implements [operation.Store].
func (s operations) Change(ctx context.Context, ref string, decide func(ctx context.Context, tx Tx, seen operation.Seen) (operation.Edit, error)) error {
	if record.Nested(ctx) {
		return record.ErrNested
	}
	return s.editing(ctx, func(t *transaction, e *editing) error {
		row, ok := s.db.externals.get(ref, true)
		if !ok {
			return record.ErrNotFound
		}
		seen, err := t.see(row, e.now)
		if err != nil {
			return err
		}
		edit, err := t.ask(func(tx Tx) (operation.Edit, error) { return decide(ctx, tx, seen) })
		if err != nil {
			return err
		}
		return e.write(seen, edit)
	})
}

// ask lends the transaction until decide returns.
func (t *transaction) ask(decide func(tx Tx) (operation.Edit, error)) (operation.Edit, error) {
	h := &handle{t: t, owned: true}
	defer func() {
		t.mu.Lock()
		h.ended = true
		t.mu.Unlock()
	}()
	return decide(Tx{h})
}
