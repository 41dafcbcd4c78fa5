package my

import (
	"context"
	"database/sql"
	"encoding/base32"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/proof/bench/naked"
)

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func reserve(ctx context.Context, q execer, key string) error {
	now := time.Now()
	hash := hashOf(key)
	ref := base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(refOf(hash, now.UnixMicro()))
	_, err := q.ExecContext(ctx, "INSERT INTO usual (scope, operation, `key`, ref, state, created, expires, remember, raw, deciding) VALUES (?, ?, ?, ?, 2, ?, ?, ?, ?, ?)",
		scope, operation, key, ref, now, now.Add(24*time.Hour), now.Add(30*24*time.Hour), digest[:], digest[:])
	return err
}

func complete(ctx context.Context, q execer, key string) error {
	_, err := q.ExecContext(ctx, "UPDATE usual SET state = 3, status = 201, effect = '/orders/1', header = ?, body = ? WHERE scope = ? AND operation = ? AND `key` = ?",
		headers, naked.Body, scope, operation, key)
	return err
}

func (n Naked) within(ctx context.Context, work func(*sql.Tx) error) error {
	tx, err := n.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := work(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Naive is the middleware most services write: look, insert, effect, update.
func (n Naked) Naive(ctx context.Context, key string) error {
	return n.within(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT status FROM usual WHERE scope = ? AND operation = ? AND `key` = ?", scope, operation, key).Scan(new(int))
		if !errors.Is(err, sql.ErrNoRows) {
			return errors.Join(errors.New("found"), err)
		}
		if err := reserve(ctx, tx, key); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, effectSQL, effectArgs...); err != nil {
			return err
		}
		return complete(ctx, tx, key)
	})
}

// Reserved commits a reservation first and completes it with the effect, as most
// libraries do.
func (n Naked) Reserved(ctx context.Context, key string) error {
	if err := reserve(ctx, n.DB, key); err != nil {
		return err
	}
	return n.within(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, effectSQL, effectArgs...); err != nil {
			return err
		}
		return complete(ctx, tx, key)
	})
}
