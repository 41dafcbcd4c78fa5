package sqlite

import (
	"context"
	"fmt"

	"github.com/refrain-dev/refrain/record"
)

const insertSQL = `INSERT INTO refrain_record (hash, ref, version, format, state, disputed, scope, operation, key, actor,
 raw, deciding, rule, schema, created, final, replay_until, remember_until, attempt, fence, lease, evidence, status, effect, digest, header, body)
VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`

func insert(ctx context.Context, q runner, rec *record.Record, hash [16]byte) error {
	evidence, err := record.EncodeEvidence(rec.Evidence)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, insertSQL, hash[:], rec.Ref, rec.Version, rec.Format, int(rec.State), rec.Disputed,
		rec.Identity.Scope, rec.Identity.Operation, []byte(rec.Identity.Key), rec.Actor,
		rec.Print.Raw[:], rec.Print.Deciding[:], rec.Print.Rule, rec.Print.Schema,
		micros(rec.Created), micros(rec.Final), micros(rec.ReplayUntil), micros(rec.RememberUntil),
		rec.Attempt, rec.Fence, micros(rec.Lease), orNull(evidence), rec.Result.Status, rec.Result.Effect,
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

// write stores the final record of an execution: with the operation's row where
// it is the first, in place of the record it takes over, spending its allow.
func write(ctx context.Context, q runner, c *record.Claim, rec *record.Record, s seen, decision record.Decision) error {
	if !s.known {
		if err := learn(ctx, q, c); err != nil {
			return err
		}
	}
	if decision.Replaces {
		if err := remove(ctx, q, s.Record, c.Hash); err != nil {
			return err
		}
	}
	if decision.SpendsAllow {
		if err := spend(ctx, q, c.Identity, c.Hash); err != nil {
			return err
		}
	}
	return insert(ctx, q, rec, c.Hash)
}

// learn stores an operation the store has not seen, with its contract.
func learn(ctx context.Context, q runner, c *record.Claim) error {
	contract, err := c.Contract()
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO refrain_operation (operation, identity, contract) VALUES (?, ?, ?)`,
		c.Identity.Operation, c.IdentityVersion, string(contract))
	return err
}

// spend deletes the allow of an identity.
func spend(ctx context.Context, q runner, id record.Identity, hash [16]byte) error {
	return one(q.exec(ctx, `DELETE FROM refrain_allow WHERE hash = ? AND scope = ? AND operation = ? AND key = ?`,
		hash[:], id.Scope, id.Operation, []byte(id.Key)))
}

// remove deletes exactly this version of a record.
func remove(ctx context.Context, q runner, old *record.Record, hash [16]byte) error {
	return one(q.exec(ctx, `DELETE FROM refrain_record WHERE hash = ? AND ref = ? AND version = ?`, hash[:], old.Ref, old.Version))
}

// one demands that exactly one row was changed: a release or take-over that
// touches none is reported, not ignored.
func one(n int64, err error) error {
	if err == nil && n != 1 {
		err = fmt.Errorf("%w: %d rows instead of one", record.ErrSwapped, n)
	}
	return err
}
