package sqlite

import (
	"context"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// reviewsPerScope caps what late retries of one scope may store.
const reviewsPerScope = 1000

// review stores a refused late retry: one row per identity, counted, capped per
// scope.
func review(ctx context.Context, q runner, c *record.Claim, now time.Time) error {
	id, print := c.Identity, c.Request.Print
	_, err := q.exec(ctx, `INSERT INTO refrain_review
		(hash, scope, operation, key, raw, deciding, rule, schema, first, last, count)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, 1
		WHERE (SELECT count(*) FROM refrain_review WHERE scope = ?2) < ?10 OR EXISTS (SELECT 1 FROM refrain_review WHERE hash = ?1)
		ON CONFLICT (hash) DO UPDATE SET last = excluded.last, count = count + 1`,
		c.Hash[:], id.Scope, id.Operation, []byte(id.Key), print.Raw[:], print.Deciding[:], print.Rule, print.Schema,
		now.UnixMicro(), reviewsPerScope)
	return err
}
