package naked

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
)

// A rowid table with one unique index on 16 bytes: the row of about 650 bytes
// is appended, only the index is written at random.
const schema = `
CREATE TABLE IF NOT EXISTS orders (
	id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, item TEXT NOT NULL, cents INTEGER NOT NULL, note TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS records (
	id INTEGER PRIMARY KEY, hash BLOB NOT NULL, tenant TEXT NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL,
	fingerprint BLOB NOT NULL, status INTEGER NOT NULL, headers BLOB NOT NULL, body BLOB NOT NULL,
	created INTEGER NOT NULL, replay_until INTEGER NOT NULL, remember_until INTEGER NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS records_hash ON records (hash);`

const (
	lookupSQL = `SELECT tenant, operation, key, fingerprint, status, headers, body, replay_until FROM records WHERE hash = ?`
	effectSQL = `INSERT INTO orders (tenant, item, cents, note) VALUES (?, ?, ?, ?)`
	recordSQL = `INSERT INTO records (hash, tenant, operation, key, fingerprint, status, headers, body, created, replay_until, remember_until)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
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
		{&st.lookup, lookupSQL}, {&st.effect, effectSQL}, {&st.record, recordSQL},
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
		t, o, k     string
		fingerprint []byte
		until       int64
		answer      = Answer{Replayed: true}
		hash        = hash(key)
	)
	err := st.QueryRowContext(ctx, hash[:]).
		Scan(&t, &o, &k, &fingerprint, &answer.Status, &answer.Headers, &answer.Body, &until)
	if err != nil {
		return Answer{}, err
	}
	if t != tenant || o != operation || k != key {
		return Answer{}, ErrForeign
	}
	return answer, nil
}

func (n *Naked) effect(ctx context.Context) error {
	_, err := n.st.effect.ExecContext(ctx, tenant, "tea", 1250, "an order of about one hundred bytes in its row")
	return err
}

const (
	microDay = 24 * 3600 * 1_000_000
	now      = 1_800_000_000_000_000 // any instant: the prototype decides nothing by time
)

func (n *Naked) record(ctx context.Context, key string) (Answer, error) {
	answer := Answer{Status: 201, Headers: headers, Body: body}
	hash := hash(key)
	_, err := n.st.record.ExecContext(ctx, hash[:], tenant, operation, key, fingerprint,
		answer.Status, answer.Headers, answer.Body, int64(now), int64(now+microDay), int64(now+30*microDay))
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
