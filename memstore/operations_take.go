package memstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Take implements [operation.Store].
func (s operations) Take(ctx context.Context, provider string, limit int, decide func(operation.Seen) operation.Edit) ([]operation.Operation, time.Time, error) {
	if record.Nested(ctx) {
		return nil, time.Time{}, record.ErrNested
	}
	var written []operation.Operation
	var unread []error
	var now time.Time
	err := s.editing(ctx, func(t *transaction, e *editing) error {
		now = e.now
		var offered []operation.Seen
		for _, row := range t.due(provider, now, limit) {
			seen, err := t.see(row, now)
			switch {
			case errors.Is(err, record.ErrNewerFormat):
				continue
			case errors.Is(err, record.RecordUnreadable):
				unread = append(unread, fmt.Errorf("memstore: operation %s: %w", row.columns.Ref, err))
				row.columns.Due = now.Add(operation.Aside)
				t.db.externals.put(t, row.columns.Ref, row)
				continue
			case err != nil:
				return err
			}
			o := seen.Operation
			if head, ok := t.head(o.Provider, o.Partition); ok && o.Partition != "" && head.columns.Seq < o.Seq {
				seen.Behind = head.columns.Due
			}
			offered = append(offered, seen)
		}
		for _, seen := range offered {
			edit := decide(seen)
			if err := e.write(seen, edit); err != nil {
				return err
			}
			if edit.Put != nil {
				written = append(written, *edit.Put)
			}
		}
		return nil
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return written, now, errors.Join(unread...)
}

// due returns what can be taken, longest due first. What a newer version wrote
// is left for it, here and in Take.
func (t *transaction) due(provider string, now time.Time, limit int) []external {
	var due []external
	for _, row := range t.db.externals.all(true) {
		c := row.columns
		if c.Provider == provider && !c.Due.IsZero() && !c.Due.After(now) && row.format <= operation.Format {
			due = append(due, row)
		}
	}
	slices.SortFunc(due, func(a, b external) int {
		return cmp.Or(a.columns.Due.Compare(b.columns.Due), cmp.Compare(a.columns.Seq, b.columns.Seq))
	})
	return due[:min(max(limit, 0), len(due))]
}
