package sqlite

import (
	"context"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

const forgetOperationsSQL = `DELETE FROM refrain_external WHERE seq IN (
 SELECT e.seq FROM refrain_external e WHERE e.final < ?1 AND e.state IN (?2, ?3) AND NOT e.disputed AND e.format <= ?4
  AND NOT EXISTS (SELECT 1 FROM refrain_record r WHERE r.ref = e.action) ORDER BY e.final, e.seq LIMIT ?5)`

// Forget implements [operation.Store]. What a newer version wrote is left for it.
func (s operations) Forget(ctx context.Context, before time.Time, limit int) (int, error) {
	if record.Nested(ctx) {
		return 0, record.ErrNested
	}
	var removed int64
	err := s.db.writing(ctx, func(ctx context.Context, c *session) (err error) {
		removed, err = c.run.exec(ctx, forgetOperationsSQL, before.UnixMicro(), int(record.Confirmed), int(record.Rejected),
			operation.Format, max(limit, 0))
		return err
	})
	return int(removed), err
}
