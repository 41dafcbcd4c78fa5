package naked

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// OrdersSQL is the business table, for the prototype and the engine alike.
const OrdersSQL = `CREATE TABLE IF NOT EXISTS orders (
	id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, item TEXT NOT NULL, cents INTEGER NOT NULL, note TEXT NOT NULL)`

// EffectSQL and EffectArgs are the effect, a row of about a hundred bytes.
const EffectSQL = `INSERT INTO orders (tenant, item, cents, note) VALUES (?, ?, ?, ?)`

// EffectArgs are EffectSQL's values.
var EffectArgs = []any{tenant, "tea", 1250, "an order of about one hundred bytes in its row"}

// The engine's tables, and the SQL an author would write by hand for one lookup
// and one record in them: the same columns, the same snapshot, no more.
const (
	lookupSQL = `SELECT o.identity, o.horizon, a.hash IS NOT NULL,
 (SELECT max(until) FROM refrain_fence WHERE operation IN ('', ?2) AND scope IN ('', ?3)),
 r.scope, r.operation, r.key, r.deciding, r.status, r.header, r.body, r.replay_until
FROM (SELECT 1)
LEFT JOIN refrain_operation o ON o.operation = ?2
LEFT JOIN refrain_allow a ON a.hash = ?1 AND a.scope = ?3 AND a.operation = ?2 AND a.key = ?4
LEFT JOIN refrain_record r ON r.hash = ?1`
	recordSQL = `INSERT INTO refrain_record (hash, ref, version, format, state, disputed, scope, operation, key, actor,
 raw, deciding, rule, schema, created, final, replay_until, remember_until, attempt, fence, status, effect, header, body)
VALUES (?, ?, 1, 1, 4, 0, ?, ?, ?, '', ?, ?, 'raw/1', '1', ?, ?, ?, ?, 1, 0, ?, '/orders/1', ?, ?)`
)

const (
	tenant    = "north"
	operation = "orders.create"
)

// ErrForeign says that the row under a hash belongs to another identity.
var ErrForeign = errors.New("naked: another identity under this hash")

type statements struct {
	begin, commit, rollback, savepoint, release, undo *sql.Stmt
	lookup, effect, record                            *sql.Stmt
}

func prepare(ctx context.Context, conn *sql.Conn) (st statements, err error) {
	for _, p := range []struct {
		into **sql.Stmt
		text string
	}{
		{&st.begin, "BEGIN IMMEDIATE"}, {&st.commit, "COMMIT"}, {&st.rollback, "ROLLBACK"},
		{&st.savepoint, "SAVEPOINT member"}, {&st.release, "RELEASE member"}, {&st.undo, "ROLLBACK TO member"},
		{&st.lookup, lookupSQL}, {&st.effect, EffectSQL}, {&st.record, recordSQL},
	} {
		if *p.into, err = conn.PrepareContext(ctx, p.text); err != nil {
			return st, fmt.Errorf("prepare %q: %w", p.text, err)
		}
	}
	return st, nil
}

func (st *statements) close() error {
	var errs []error
	for _, s := range []*sql.Stmt{
		st.begin, st.commit, st.rollback, st.savepoint, st.release, st.undo, st.lookup, st.effect, st.record,
	} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

func lookup(ctx context.Context, st *sql.Stmt, key string) (Answer, error) {
	var (
		identity, scope, op   sql.NullString
		horizon, fence, until sql.NullInt64
		status                sql.NullInt64
		allowed               bool
		stored, fingerprint   []byte
		answer                = Answer{Replayed: true}
		hash                  = hash(key)
	)
	err := st.QueryRowContext(ctx, hash[:], operation, tenant, []byte(key)).Scan(&identity, &horizon, &allowed, &fence,
		&scope, &op, &stored, &fingerprint, &status, &answer.Headers, &answer.Body, &until)
	switch {
	case err != nil:
		return Answer{}, err
	case !scope.Valid:
		return Answer{}, sql.ErrNoRows
	case scope.String != tenant || op.String != operation || string(stored) != key:
		return Answer{}, ErrForeign
	}
	answer.Status = int(status.Int64)
	return answer, nil
}

func (n *Naked) effect(ctx context.Context) error {
	_, err := n.st.effect.ExecContext(ctx, EffectArgs...)
	return err
}

const (
	microDay = 24 * 3600 * 1_000_000
	now      = 1_800_000_000_000_000 // any instant: the prototype decides nothing by time
)

func (n *Naked) record(ctx context.Context, key string) (Answer, error) {
	answer := Answer{Status: 201, Headers: headers, Body: Body}
	hash := hash(key)
	_, err := n.st.record.ExecContext(ctx, hash[:], record.NewRef(time.Now()), tenant, operation, []byte(key), fingerprint, fingerprint,
		int64(now), int64(now), int64(now+microDay), int64(now+30*microDay), answer.Status, answer.Headers, answer.Body)
	return answer, err
}

// hash is the first half of SHA-256 over the length-prefixed identity.
func hash(key string) [16]byte {
	var buf [128]byte
	b := buf[:0]
	for _, part := range [...]string{tenant, operation, key} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}
