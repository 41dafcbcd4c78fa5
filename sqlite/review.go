package sqlite

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
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

// reviewed removes what was under review of an identity, if anything was.
func reviewed(ctx context.Context, q runner, id record.Identity, hash [16]byte) error {
	_, err := q.exec(ctx, `DELETE FROM refrain_review WHERE hash = ? AND scope = ? AND operation = ? AND key = ?`,
		hash[:], id.Scope, id.Operation, []byte(id.Key))
	return err
}

// Reviews implements [upkeep.Retention].
func (db *DB) Reviews(ctx context.Context, q upkeep.ReviewQuery) (all []upkeep.Review, err error) {
	id, idErr := hex.DecodeString(q.ID)
	after, afterErr := hex.DecodeString(q.After)
	if idErr != nil || afterErr != nil {
		return nil, nil // no review has such an id
	}
	err = db.lookups.rows(ctx, `SELECT scope, operation, key, raw, deciding, rule, schema, first, last, count FROM refrain_review
		WHERE hash > ?1 AND (?2 = x'' OR hash = ?2) AND (?3 = '' OR scope = ?3) AND (?4 = '' OR operation = ?4) ORDER BY hash LIMIT ?5`,
		func(r row) error {
			v := upkeep.Review{
				Identity: record.Identity{Scope: r.text(0), Operation: r.text(1), Key: string(r.blob(2))},
				Print:    fingerprint.Print{Rule: r.text(5), Schema: r.text(6)},
				First:    instant(r, 7), Last: instant(r, 8), Count: int(r.integer(9)),
			}
			copy(v.Print.Raw[:], r.blob(3))
			copy(v.Print.Deciding[:], r.blob(4))
			all = append(all, v)
			return nil
		}, after, id, q.Scope, q.Operation, q.Bounded())
	return all, migrated(err)
}
