package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

const (
	onceText = `INSERT INTO {schema}.once (rule, value, ref, at)
VALUES ($1::bytea, $2::bytea, $3::bytea, coalesce($4::int8, ` + clock + `)) ON CONFLICT (rule, value) DO NOTHING`

	oncesText = `SELECT o.rule, o.value, o.ref, o.at FROM {schema}.once o WHERE o.rule = $1::bytea AND o.value > $2::bytea
ORDER BY o.value LIMIT $3::int8`

	removeOnceText = `DELETE FROM {schema}.once WHERE rule = $1::bytea AND value = $2::bytea`
)

// Once takes a value of a rule for ever, in a transaction: an effect's, that of an
// ExecuteIn, or one of the application's own. [refrain.ErrTaken]: the rule holds
// it already; nothing was written and the transaction goes on. Of two transactions
// the second waits for the first. Above READ COMMITTED it may then be told by a
// serialization failure, for which Execute runs an effect again. What is wrong with
// the arguments is [upkeep.ErrOnce]. It is rolled back with its transaction.
func (db *DB) Once(ctx context.Context, tx Tx, rule, value string) error {
	return db.once(ctx, direct{tx}, rule, value)
}

// Once takes a value of a rule for ever; see [DB.Once].
func (db *SQL) Once(ctx context.Context, tx SQLTx, rule, value string) error {
	return db.once(ctx, through{tx}, rule, value)
}

func (s *Store) once(ctx context.Context, tx runner, rule, value string) error {
	if err := upkeep.CheckOnce(rule, value); err != nil {
		return err
	}
	query, args := s.onceStatement(ctx, rule, value)
	n, err := tx.exec(ctx, query, args...)
	switch {
	case err != nil:
		return fmt.Errorf("postgres: Once: %w", migrated(err))
	case n == 0:
		return refrain.ErrTaken
	}
	return nil
}

func (s *Store) onceStatement(ctx context.Context, rule, value string) (query string, args []any) {
	call, _ := refrain.CallFrom(ctx)
	return s.sql.text(onceText), []any{[]byte(rule), []byte(value), orNull(packRef(call.Ref)), s.stamp()}
}

// Onces implements [upkeep.Retention].
func (s *Store) Onces(ctx context.Context, q upkeep.OnceQuery) (taken []upkeep.Once, err error) {
	err = each(ctx, s.read, func(row scanner) error {
		var rule, value, ref []byte
		var at int64
		err := row.Scan(&rule, &value, &ref, &at)
		o := upkeep.Once{Rule: string(rule), Value: string(value), At: time.UnixMicro(at).UTC()}
		if ref != nil {
			o.Ref = unpackRef(ref)
		}
		taken = append(taken, o)
		return err
	}, s.sql.text(oncesText), []byte(q.Rule), []byte(q.After), int64(q.Bounded()))
	return taken, migrated(err)
}

// RemoveOnce implements [upkeep.Retention].
func (s *Store) RemoveOnce(ctx context.Context, rule, value, by, reason string) error {
	if err := upkeep.Signed(by, reason); err != nil {
		return err
	}
	return migrated(s.write(ctx, func(ctx context.Context, tx runner) error {
		now, err := s.clock(ctx, tx)
		if err != nil {
			return err
		}
		n, err := tx.exec(ctx, s.sql.text(removeOnceText), []byte(rule), []byte(value))
		if err := one(n, err, record.ErrNotFound); err != nil {
			return err
		}
		return s.audit(ctx, tx, now, by, "once-remove", "", reason, rule)
	}))
}
