package mysql

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// reviewsPerScope caps what late retries of one scope may store.
const reviewsPerScope = 1000

// review stores a refused late retry: one row per identity, counted, capped per
// scope. Retries that come at the same instant may pass the cap by their number.
func review(ctx context.Context, q runner, c *record.Claim, now time.Time) error {
	var kept, all int
	err := q.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM refrain_review WHERE hash = ?),
		(SELECT count(*) FROM refrain_review WHERE scope = ?) LIMIT 1`, c.Hash[:], []byte(c.Identity.Scope)).Scan(&kept, &all)
	if err != nil || kept == 0 && all >= reviewsPerScope {
		return err
	}
	id, print := c.Identity, c.Request.Print
	_, err = q.ExecContext(ctx, "INSERT INTO refrain_review"+
		" (hash, scope, operation, `key`, raw, deciding, rule, `schema`, first, last, count)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1) ON DUPLICATE KEY UPDATE last = VALUES(last), count = count + 1",
		c.Hash[:], []byte(id.Scope), []byte(id.Operation), []byte(id.Key), print.Raw[:], print.Deciding[:], []byte(print.Rule), []byte(print.Schema),
		now.UnixMicro(), now.UnixMicro())
	return err
}

// Reviews returns the refused late retries, in the order of their ids.
func (db *DB) Reviews(ctx context.Context, q upkeep.ReviewQuery) (all []upkeep.Review, err error) {
	where, args := []string{`TRUE`}, []any(nil)
	for _, f := range [...]struct{ condition, hash string }{{`hash = ?`, q.ID}, {`hash > ?`, q.After}} {
		if f.hash == "" {
			continue
		}
		hash, err := hex.DecodeString(f.hash)
		if err != nil {
			return nil, nil // nothing has such an id
		}
		where, args = append(where, f.condition), append(args, hash)
	}
	if q.Scope != "" {
		where, args = append(where, `scope = ?`), append(args, []byte(q.Scope))
	}
	if q.Operation != "" {
		where, args = append(where, `operation = ?`), append(args, []byte(q.Operation))
	}
	err = db.reading(ctx, func(ctx context.Context, tx runner) error {
		rows, err := tx.QueryContext(ctx, "SELECT scope, operation, `key`, raw, deciding, rule, `schema`, first, last, count FROM refrain_review WHERE "+
			strings.Join(where, ` AND `)+` ORDER BY hash LIMIT ?`, append(args, q.Bounded())...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			r, err := scanAny(rows, 10)
			if err != nil {
				return err
			}
			v := upkeep.Review{
				Identity: record.Identity{Scope: r.text(0), Operation: r.text(1), Key: r.text(2)},
				First:    r.instant(7), Last: r.instant(8), Count: int(r.integer(9)),
			}
			copy(v.Print.Raw[:], r.blob(3))
			copy(v.Print.Deciding[:], r.blob(4))
			v.Print.Rule, v.Print.Schema = r.text(5), r.text(6)
			all = append(all, v)
		}
		return errors.Join(rows.Err(), rows.Close())
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
