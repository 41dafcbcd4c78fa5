package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/refrain-dev/refrain/record"
)

// execer is what one write needs.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

const insertSQL = `INSERT INTO refrain_record (hash, ref, version, format, state, disputed, scope, operation, key, actor,
 raw, deciding, rule, schema, created, final, replay_until, remember_until, attempt, lease, status, effect, digest, header, body)
VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`

func insert(ctx context.Context, q execer, rec *record.Record, hash [16]byte) error {
	_, err := q.ExecContext(ctx, insertSQL, hash[:], rec.Ref, rec.Version, rec.Format, int(rec.State), rec.Disputed,
		rec.Identity.Scope, rec.Identity.Operation, []byte(rec.Identity.Key), rec.Actor,
		rec.Print.Raw[:], rec.Print.Deciding[:], rec.Print.Rule, rec.Print.Schema,
		micros(rec.Created), micros(rec.Final), micros(rec.ReplayUntil), micros(rec.RememberUntil),
		rec.Attempt, micros(rec.Lease), rec.Result.Status, rec.Result.Effect,
		orNull(rec.Result.Digest), orNull(record.EncodeHeader(rec.Result.Header)), orNull(rec.Result.Body))
	return err
}

// orNull keeps nothing as NULL.
func orNull(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// write stores the final record of an execution. decision says what it takes
// over and spends; known is whether the operation has its row.
func write(ctx context.Context, q execer, c *record.Claim, rec *record.Record, s seen, decision record.Decision) error {
	if !s.identity.Valid {
		contract, err := c.Contract()
		if err == nil {
			_, err = q.ExecContext(ctx, `INSERT INTO refrain_operation (operation, identity, contract) VALUES (?, ?, ?)`,
				c.Identity.Operation, c.IdentityVersion, string(contract))
		}
		if err != nil {
			return err
		}
	}
	if decision.Replaces {
		old := s.Record
		err := one(q.ExecContext(ctx, `DELETE FROM refrain_record WHERE hash = ? AND ref = ? AND version = ?`, c.Hash[:], old.Ref, old.Version))
		if err != nil {
			return err
		}
	}
	if decision.SpendsAllow {
		err := one(q.ExecContext(ctx, `DELETE FROM refrain_allow WHERE hash = ? AND scope = ? AND operation = ? AND key = ?`,
			c.Hash[:], c.Identity.Scope, c.Identity.Operation, []byte(c.Identity.Key)))
		if err != nil {
			return err
		}
	}
	return insert(ctx, q, rec, c.Hash)
}

// one demands that exactly one row was changed: a release or take-over that
// touches none is reported, not ignored.
func one(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n != 1 {
		err = fmt.Errorf("%w: %d rows instead of one", record.ErrSwapped, n)
	}
	return err
}
