package pg

import (
	"context"
	"encoding/base32"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/refrain-dev/refrain/proof/bench/naked"
)

type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func reserve(ctx context.Context, q execer, key string) error {
	now := time.Now()
	hash := hashOf(key)
	_, err := q.Exec(ctx, `INSERT INTO usual (scope, operation, key, ref, state, created, expires, remember, raw, deciding)
		VALUES ($1, $2, $3, $4, 2, $5, $6, $7, $8, $9)`, scope, operation, key, textRef(hash, now.UnixMicro()),
		now, now.Add(24*time.Hour), now.Add(30*24*time.Hour), digest[:], digest[:])
	return err
}

func complete(ctx context.Context, q execer, key string) error {
	_, err := q.Exec(ctx, `UPDATE usual SET state = 3, status = 201, effect = '/orders/1', header = $4, body = $5
		WHERE scope = $1 AND operation = $2 AND key = $3`, scope, operation, key, headers, naked.Body)
	return err
}

// row is what a lookup reads.
type row struct {
	locked                     bool
	identity                   *string
	horizon                    *int64
	now                        float64
	state                      *int16
	replayUntil, rememberUntil *int64
	scope, operation           *string
	key, raw, deciding         []byte
	status                     *int32
	ref, effect, header, body  []byte
}

func (r *row) dest(locked bool) []any {
	dest := []any{&r.locked, &r.identity, &r.horizon, &r.now, &r.state, &r.replayUntil, &r.rememberUntil, &r.scope, &r.operation,
		&r.key, &r.raw, &r.deciding, &r.status, &r.ref, &r.effect, &r.header, &r.body}
	if !locked {
		return dest[1:]
	}
	return dest
}

func textRef(hash [16]byte, now int64) string {
	return "op_" + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(refOf(hash, now)))
}
