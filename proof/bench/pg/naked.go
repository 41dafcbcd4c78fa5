// Package pg gives the benchmark's rows on PostgreSQL: the bare effect, what
// most libraries do, a naked prototype of our SQL, and the engine itself.
package pg

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain/proof/bench/naked"
)

// schemaSQL are the tables of the prototype (one narrow index by hash, one by
// time) and those of the usual layout (a text key, an index on expiry), with the
// same columns.
const schemaSQL = `
CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant text NOT NULL, sku text NOT NULL, amount bigint NOT NULL);
CREATE TABLE naked_operation (operation text COLLATE "C" PRIMARY KEY, identity text NOT NULL, horizon bigint);
INSERT INTO naked_operation VALUES ('orders.create', 'tenant[,subject]', NULL);
CREATE TABLE naked (
  hash uuid PRIMARY KEY, xid xid8 NOT NULL DEFAULT pg_current_xact_id(), created bigint NOT NULL, replay_until bigint NOT NULL,
  remember_until bigint NOT NULL, status integer NOT NULL, state smallint NOT NULL, ref bytea NOT NULL UNIQUE,
  scope text COLLATE "C" NOT NULL, operation text COLLATE "C" NOT NULL, key bytea NOT NULL,
  raw bytea NOT NULL, deciding bytea NOT NULL, effect bytea NOT NULL, header bytea, body bytea);
CREATE TABLE usual (
  scope text NOT NULL, operation text NOT NULL, key text NOT NULL, ref text NOT NULL UNIQUE, state smallint NOT NULL,
  created timestamptz NOT NULL, expires timestamptz NOT NULL, remember timestamptz NOT NULL, status integer,
  raw bytea NOT NULL, deciding bytea NOT NULL, effect text, header bytea, body bytea, PRIMARY KEY (scope, operation, key));
CREATE INDEX ON usual (expires);`

const (
	effectSQL   = `INSERT INTO orders (tenant, sku, amount) VALUES ($1, $2, $3)`
	withIDSQL   = `INSERT INTO orders (tenant, sku, amount) VALUES ($1, $2, $3) RETURNING id`
	nakedLookup = `SELECT pg_try_advisory_xact_lock($2::bigint), o.identity, o.horizon, extract(epoch FROM clock_timestamp()),
 r.state, r.replay_until, r.remember_until, r.scope, r.operation, r.key, r.raw, r.deciding, r.status, r.ref, r.effect, r.header, r.body
FROM (SELECT 1) one LEFT JOIN naked_operation o ON o.operation = $3 LEFT JOIN naked r ON r.hash = $1`
	nakedRead = `SELECT o.identity, o.horizon, extract(epoch FROM clock_timestamp()),
 r.state, r.replay_until, r.remember_until, r.scope, r.operation, r.key, r.raw, r.deciding, r.status, r.ref, r.effect, r.header, r.body
FROM (SELECT 1) one LEFT JOIN naked_operation o ON o.operation = $2 LEFT JOIN naked r ON r.hash = $1`
	nakedInsert = `INSERT INTO naked (hash, created, replay_until, remember_until, status, state, ref, scope, operation, key, raw, deciding, effect, header, body)
VALUES ($1, $2, $3, $4, 201, 3, $5, $6, $7, $8, $9, $10, $11, $12, $13)`
)

var (
	effectArgs = []any{"north", "A-1", int64(2)}
	digest     = sha256.Sum256([]byte("request"))
	headers    = make([]byte, 90)
)

const scope, operation = "tenant=north", "orders.create"

// Naked is the prototype: our statements without anything around them.
type Naked struct{ Pool *pgxpool.Pool }

func nakedArgs(hash [16]byte, key string, now int64) []any {
	day := (24 * time.Hour).Microseconds()
	return []any{hash, now, now + day, now + 30*day, refOf(hash, now), scope, operation, []byte(key), digest[:], digest[:], []byte("/orders/1"), headers, naked.Body}
}

// refOf begins with its time, like the engine's.
func refOf(hash [16]byte, now int64) []byte {
	var ref [18]byte
	binary.BigEndian.PutUint64(ref[:], uint64(now/1000)<<16)
	copy(ref[6:], hash[:12])
	return ref[:]
}

func hashOf(key string) (hash [16]byte) {
	sum := sha256.Sum256([]byte(scope + "\x00" + operation + "\x00" + key))
	copy(hash[:], sum[:])
	return hash
}

// Bare is the effect in a transaction of its own, three round trips.
func (n Naked) Bare(ctx context.Context) error {
	return pgx.BeginFunc(ctx, n.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, effectSQL, effectArgs...)
		return err
	})
}

var errHeld = errors.New("held")

// Execute is the effect with its record in three round trips.
func (n Naked) Execute(ctx context.Context, key string) error {
	conn, err := n.Pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	hash := hashOf(key)
	var begin pgx.Batch
	begin.Queue("BEGIN")
	begin.Queue(nakedLookup, hash, int64(binary.BigEndian.Uint64(hash[:])), operation)
	sent := conn.SendBatch(ctx, &begin)
	if _, err := sent.Exec(); err != nil {
		return errors.Join(err, sent.Close())
	}
	var found row
	err = sent.QueryRow().Scan(found.dest(true)...)
	if err := errors.Join(err, sent.Close()); err != nil {
		return err
	}
	if !found.locked {
		_, err := conn.Exec(ctx, "ROLLBACK")
		return errors.Join(errHeld, err)
	}
	if _, err := conn.Exec(ctx, effectSQL, effectArgs...); err != nil {
		return err
	}
	var end pgx.Batch
	end.Queue(nakedInsert, nakedArgs(hash, key, time.Now().UnixMicro())...)
	end.Queue("COMMIT")
	return conn.SendBatch(ctx, &end).Close()
}

// Replay reads a record in one round trip.
func (n Naked) Replay(ctx context.Context, key string) error {
	var found row
	hash := hashOf(key)
	if err := n.Pool.QueryRow(ctx, nakedRead, hash, operation).Scan(found.dest(false)...); err != nil {
		return err
	}
	if found.state == nil {
		return errors.New("no record")
	}
	return nil
}

// Naive is the middleware most services write: look, insert, effect, update.
func (n Naked) Naive(ctx context.Context, key string) error {
	return pgx.BeginFunc(ctx, n.Pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `SELECT status FROM usual WHERE scope = $1 AND operation = $2 AND key = $3`, scope, operation, key).Scan(new(int))
		if !errors.Is(err, pgx.ErrNoRows) {
			return errors.Join(errors.New("found"), err)
		}
		if err := reserve(ctx, tx, key); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, effectSQL, effectArgs...); err != nil {
			return err
		}
		return complete(ctx, tx, key)
	})
}

// Reserved commits a reservation first and completes it with the effect, as most
// libraries do.
func (n Naked) Reserved(ctx context.Context, key string) error {
	if err := reserve(ctx, n.Pool, key); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, n.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, effectSQL, effectArgs...); err != nil {
			return err
		}
		return complete(ctx, tx, key)
	})
}
