package sqlite

import (
	"context"
	"errors"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Change implements [operation.Store]. It shares its transaction with other
// callers like Execute does, so decide may be asked again.
func (s operations) Change(ctx context.Context, ref string, decide func(ctx context.Context, tx Tx, seen operation.Seen) (operation.Edit, error)) error {
	if record.Nested(ctx) {
		return record.ErrNested
	}
	var refused error // waits for COMMIT too: what it is about may be a neighbour's
	err := s.db.write(ctx, false, func(_ context.Context, c *session) error {
		e := editing{q: c.run, now: s.db.opts.Now()}
		var seen operation.Seen
		if seen, refused = e.see(ref); errors.Is(refused, record.ErrNotFound) {
			return nil
		} else if refused != nil {
			return refused
		}
		var edit operation.Edit
		var err error
		refused, err = c.ask(ctx, func(ctx context.Context, tx Tx) (err error) {
			edit, err = decide(ctx, tx, seen)
			return err
		})
		if err != nil {
			return err
		}
		if refused != nil {
			_, err := c.run.exec(context.Background(), "ROLLBACK TO refrain")
			return err
		}
		if err := e.write(seen, edit); err != nil {
			return err
		}
		return e.release()
	})
	if err != nil {
		return err
	}
	return refused
}

// ask lends the transaction to work until it returns. refused: work failed, or
// nobody waits for it any more. Another error means that the transaction cannot
// be trusted.
func (s *session) ask(ctx context.Context, work func(ctx context.Context, tx Tx) error) (refused, err error) {
	base, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &turn{base: base}
	refused = s.lend(t, func(tx Tx) error { return work(base, tx) })
	if refused == errRevoked {
		return nil, refused
	}
	if poison := t.poisoned(); poison != nil {
		return nil, poison
	}
	if refused == nil {
		refused = ctx.Err()
	}
	return refused, nil
}
