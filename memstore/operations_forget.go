package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Forget implements [operation.Store].
func (s operations) Forget(ctx context.Context, before time.Time, limit int) (int, error) {
	if record.Nested(ctx) {
		return 0, record.ErrNested
	}
	db := s.db
	var over []operation.Operation
	err := db.within(ctx, func(t *transaction) error {
		for _, row := range db.externals.all(true) {
			c := row.columns
			_, remembered := db.refs.get(c.Action, true)
			if c.State.Final() && !c.Disputed && c.Final.Before(before) && !remembered && row.format <= operation.Format {
				over = append(over, c)
			}
		}
		slices.SortFunc(over, func(a, b operation.Operation) int {
			return cmp.Or(a.Final.Compare(b.Final), cmp.Compare(a.Seq, b.Seq))
		})
		over = over[:min(max(limit, 0), len(over))]
		for _, o := range over {
			db.externals.remove(t, o.Ref)
			db.steps.remove(t, step{o.Action, o.Step})
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(over), nil
}
