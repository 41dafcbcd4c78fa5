package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// reviewsPerScope caps what late retries of one scope may store. Retries that
// arrive at one moment may pass it by their number.
const reviewsPerScope = 1000

const reviewText = `INSERT INTO {schema}.review AS r
 (hash, scope, operation, key, raw, deciding, rule, schema, first, last, count)
SELECT $1::uuid, $2::text, $3::text, $4::bytea, $5::bytea, $6::bytea, $7::text, $8::text, $9::int8, $9::int8, 1
WHERE (SELECT count(*) FROM {schema}.review WHERE scope = $2::text) < $10::int8
 OR EXISTS (SELECT 1 FROM {schema}.review WHERE hash = $1::uuid)
ON CONFLICT (hash) DO UPDATE SET last = greatest(r.last, excluded.last), count = r.count + 1`

// review stores a refused late retry: one row per identity, counted, capped per
// scope.
func (s *Store) review(ctx context.Context, tx runner, c *record.Claim, now time.Time) error {
	id, print := c.Identity, c.Request.Print
	_, err := tx.exec(ctx, s.sql.text(reviewText), hashText(c.Hash), id.Scope, id.Operation, []byte(id.Key),
		print.Raw[:], print.Deciding[:], print.Rule, print.Schema, now.UnixMicro(), int64(reviewsPerScope))
	return err
}

const (
	reviewedText = `DELETE FROM {schema}.review WHERE hash = $1::uuid AND scope = $2::text AND operation = $3::text AND key = $4::bytea`

	reviewsText = `SELECT r.scope, r.operation, r.key, r.raw, r.deciding, r.rule, r.schema, r.first, r.last, r.count FROM {schema}.review r
WHERE r.hash >= $1::uuid AND r.hash <= $2::uuid AND ($3::uuid IS NULL OR r.hash > $3::uuid)
 AND ($4::text = '' OR r.scope = $4::text) AND ($5::text = '' OR r.operation = $5::text) ORDER BY r.hash LIMIT $6::int8`
)

// Reviews implements [upkeep.Retention].
func (s *Store) Reviews(ctx context.Context, q upkeep.ReviewQuery) (reviews []upkeep.Review, err error) {
	first, last := "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"
	if q.ID != "" {
		if !reviewID(q.ID) {
			return nil, nil
		}
		first, last = q.ID, q.ID
	}
	var after any
	if q.After != "" {
		if !reviewID(q.After) {
			return nil, fmt.Errorf("postgres: %q is no id of a review", q.After)
		}
		after = q.After
	}
	err = each(ctx, s.read, func(row scanner) error {
		var r upkeep.Review
		var key, raw, deciding []byte
		var first, last, count int64
		err := row.Scan(&r.Identity.Scope, &r.Identity.Operation, &key, &raw, &deciding, &r.Print.Rule, &r.Print.Schema, &first, &last, &count)
		r.Identity.Key = string(key)
		copy(r.Print.Raw[:], raw)
		copy(r.Print.Deciding[:], deciding)
		r.First, r.Last, r.Count = time.UnixMicro(first).UTC(), time.UnixMicro(last).UTC(), int(count)
		reviews = append(reviews, r)
		return err
	}, s.sql.text(reviewsText), first, last, after, q.Scope, q.Operation, int64(q.Bounded()))
	return reviews, migrated(err)
}

// reviewID reports the form of an [upkeep.Review]'s.
func reviewID(id string) bool {
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == 16
}
