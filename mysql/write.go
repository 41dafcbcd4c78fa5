package mysql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/refrain-dev/refrain/record"
)

// insertSQL makes itself fail (NULL into hash, 1048 whatever the sql_mode)
// unless the operation's identities are made as the claim's are, held so until
// the transaction ends: a rekey, which takes that row first, is either over or
// waits. A session whose unique keys may not be checked fails, too.
const insertSQL = "INSERT INTO refrain_record (hash, ref, version, format, state, disputed, scope, operation, `key`, actor," +
	" raw, deciding, rule, `schema`, created, final, replay_until, remember_until, attempt, fence, lease, evidence, status, effect, digest, header, body)\n" +
	"VALUES (IF(@@SESSION.unique_checks AND (? IS NULL OR EXISTS (SELECT 1 FROM refrain_operation WHERE operation = ? AND identity = ? LOCK IN SHARE MODE)), ?, NULL)," +
	"?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"

// insert writes rec. identity is what the operation's identities must be made
// of; "" for a record that is written whatever the operation's row says.
func insert(ctx context.Context, q runner, rec *record.Record, hash [16]byte, identity string) error {
	args, err := insertArgs(rec, hash, identity)
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, insertSQL, args...)
	return conditional(err)
}

func insertArgs(rec *record.Record, hash [16]byte, identity string) ([]any, error) {
	ref := encodeRef(rec.Ref)
	if ref == nil {
		return nil, errRef
	}
	evidence, err := record.EncodeEvidence(rec.Evidence)
	if err != nil {
		return nil, err
	}
	if err := lengths(rec); err != nil {
		return nil, err
	}
	version := orNull([]byte(identity))
	return []any{version, []byte(rec.Identity.Operation), version, hash[:],
		ref, rec.Version, int64(rec.Format), int64(rec.State), rec.Disputed,
		[]byte(rec.Identity.Scope), []byte(rec.Identity.Operation), []byte(rec.Identity.Key), []byte(rec.Actor),
		rec.Print.Raw[:], rec.Print.Deciding[:], []byte(rec.Print.Rule), []byte(rec.Print.Schema),
		micros(rec.Created), micros(rec.Final), micros(rec.ReplayUntil), micros(rec.RememberUntil),
		int64(rec.Attempt), rec.Fence, micros(rec.Lease), orNull(evidence), int64(rec.Result.Status), []byte(rec.Result.Effect),
		orNull(rec.Result.Digest), orNull(record.EncodeHeader(rec.Result.Header)), orNull(rec.Result.Body)}, nil
}

// lengths refuses what a column cannot hold: without a strict sql_mode the
// server would cut it.
func lengths(rec *record.Record) error {
	for _, f := range [...]struct {
		name string
		text string
		most int
	}{
		{"scope", rec.Identity.Scope, 8600}, {"operation", rec.Identity.Operation, 255}, {"key", rec.Identity.Key, 255},
		{"actor", rec.Actor, 1<<24 - 1}, {"rule", rec.Print.Rule, 65535}, {"schema", rec.Print.Schema, 255},
		{"effect reference", rec.Result.Effect, 1<<24 - 1}, {"digest", string(rec.Result.Digest), 255},
	} {
		if len(f.text) > f.most {
			return fmt.Errorf("mysql: the %s has %d bytes, %d fit", f.name, len(f.text), f.most)
		}
	}
	return nil
}

const learnSQL = `INSERT INTO refrain_operation (operation, identity, contract) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE operation = VALUES(operation)`

// learn stores an operation the store has not seen, with its contract. Another
// transaction may have been faster; the record's own statement checks.
func learn(ctx context.Context, q runner, c *record.Claim) error {
	args, err := learnArgs(c)
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, learnSQL, args...)
	return err
}

func learnArgs(c *record.Claim) ([]any, error) {
	contract, err := c.Contract()
	if err != nil {
		return nil, err
	}
	if n := len(c.Identity.Operation); n > 255 {
		return nil, fmt.Errorf("mysql: the operation has %d bytes, 255 fit", n)
	}
	if n := len(c.IdentityVersion); n > 2048 {
		return nil, fmt.Errorf("mysql: the identity version has %d bytes, 2048 fit", n)
	}
	return []any{[]byte(c.Identity.Operation), []byte(c.IdentityVersion), contract}, nil
}

const spendSQL = "DELETE FROM refrain_allow WHERE hash = ? AND scope = ? AND operation = ? AND `key` = ?"

// spend deletes the allow of an identity.
func spend(ctx context.Context, q runner, id record.Identity, hash [16]byte) error {
	return one(q.ExecContext(ctx, spendSQL, spendArgs(id, hash)...))
}

func spendArgs(id record.Identity, hash [16]byte) []any {
	return []any{hash[:], []byte(id.Scope), []byte(id.Operation), []byte(id.Key)}
}

const removeSQL = `DELETE FROM refrain_record WHERE hash = ? AND ref = ? AND version = ?`

// remove deletes exactly this version of a record.
func remove(ctx context.Context, q runner, old *record.Record, hash [16]byte) error {
	return one(q.ExecContext(ctx, removeSQL, removeArgs(old, hash)...))
}

func removeArgs(old *record.Record, hash [16]byte) []any {
	return []any{hash[:], encodeRef(old.Ref), old.Version}
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
