package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// moves are the records of a rekey, each with its new identity.
type moves struct {
	rows []move
	at   map[[16]byte]int // new hash → index in rows
}

type move struct {
	n     int64
	hash  [16]byte
	scope string // shared by the records of one scope
}

// plan reads every record of the operation and refuses what must not move.
func plan(ctx context.Context, s *session, r Rekey, to *upkeep.Move, now time.Time) (*moves, error) {
	rows, err := s.conn.QueryContext(ctx, `SELECT n, hash, ref, format, scope, key, state = ? AND coalesce(lease, 0) > ?
		FROM refrain_record WHERE operation = ? ORDER BY n`, int(record.Submitted), now.UnixMicro(), r.Operation)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	m := &moves{at: make(map[[16]byte]int)}
	var refused RekeyError
	var met [][2]any // pairs of a ref and the row it meets
	for rows.Next() {
		var next move
		var hash, key []byte
		var ref string
		var format int
		var live bool
		id := record.Identity{Operation: r.Operation}
		if err := rows.Scan(&next.n, &hash, &ref, &format, &id.Scope, &key, &live); err != nil {
			return nil, err
		}
		id.Key = string(key)
		if want := id.Hash(); !bytes.Equal(hash, want[:]) {
			return nil, fmt.Errorf("%w: %s is not where its identity belongs", record.RecordUnreadable, ref)
		}
		if format > record.Format {
			return nil, fmt.Errorf("%w: %s", record.ErrNewerFormat, ref)
		}
		if live {
			refused.Live = append(refused.Live, ref)
		}
		if next.scope, err = to.Scope(id.Scope); err != nil {
			return nil, err
		}
		next.hash = record.Identity{Scope: next.scope, Operation: r.To, Key: id.Key}.Hash()
		if other, taken := m.at[next.hash]; taken {
			met = append(met, [2]any{ref, m.rows[other].n})
		}
		m.at[next.hash] = len(m.rows)
		m.rows = append(m.rows, next)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	if err := collide(ctx, s.run, r, m, met, &refused); err != nil {
		return nil, err
	}
	if len(refused.Live)+len(refused.Collisions) > 0 {
		return nil, &refused
	}
	return m, nil
}

// collide names the pairs: two moved records, or one that meets a record which
// the new operation has already.
func collide(ctx context.Context, q runner, r Rekey, m *moves, met [][2]any, e *RekeyError) error {
	name := func(query string, arg any) (ref string, err error) {
		err = q.row(ctx, query, func(r row) error { ref = r.text(0); return nil }, arg)
		return ref, err
	}
	const byNumber = `SELECT ref FROM refrain_record WHERE n = ?`
	for _, pair := range met {
		other, err := name(byNumber, pair[1])
		if err != nil {
			return err
		}
		e.Collisions = append(e.Collisions, [2]string{other, pair[0].(string)})
	}
	if r.To == r.Operation {
		return nil
	}
	for _, row := range m.rows {
		other, err := name(`SELECT ref FROM refrain_record WHERE hash = ?`, row.hash[:])
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		ref, err := name(byNumber, row.n)
		if err != nil {
			return err
		}
		e.Collisions = append(e.Collisions, [2]string{other, ref})
	}
	return nil
}

// write gives the records their new identities. A new version ends what anybody
// planned with the old one.
func (m *moves) write(ctx context.Context, q runner, operation string) (int, error) {
	for _, row := range m.rows {
		err := one(q.exec(ctx, `UPDATE refrain_record SET hash = ?, scope = ?, operation = ?, version = version + 1 WHERE n = ?`,
			row.hash[:], row.scope, operation, row.n))
		if err != nil {
			return 0, err
		}
	}
	return len(m.rows), nil
}

// beside is a row that stands beside an identity.
type beside struct {
	hash, key []byte
	scope     string
}

func rowsBeside(ctx context.Context, s *session, table, operation string) ([]beside, error) {
	rows, err := s.conn.QueryContext(ctx, `SELECT hash, scope, key FROM `+table+` WHERE operation = ?`, operation)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []beside
	for rows.Next() {
		var b beside
		if err := rows.Scan(&b.hash, &b.scope, &b.key); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, rows.Err()
}

// moveAllows keeps one allow where two become one.
func moveAllows(ctx context.Context, s *session, r Rekey, to *upkeep.Move) (int, error) {
	return moveBeside(ctx, s, r, to, "refrain_allow", `INSERT INTO refrain_allow (hash, scope, operation, key, reason, by, at)
		SELECT ?2, ?3, ?4, key, reason, by, at FROM refrain_allow WHERE hash = ?1
		ON CONFLICT (hash) DO UPDATE SET operation = excluded.operation`)
}

// moveReviews adds up the counts where two reviews become one.
func moveReviews(ctx context.Context, s *session, r Rekey, to *upkeep.Move) (int, error) {
	return moveBeside(ctx, s, r, to, "refrain_review", `INSERT INTO refrain_review
		(hash, scope, operation, key, raw, deciding, rule, schema, first, last, count)
		SELECT ?2, ?3, ?4, key, raw, deciding, rule, schema, first, last, count FROM refrain_review WHERE hash = ?1
		ON CONFLICT (hash) DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last), count = count + excluded.count`)
}

func moveBeside(ctx context.Context, s *session, r Rekey, to *upkeep.Move, table, copied string) (int, error) {
	all, err := rowsBeside(ctx, s, table, r.Operation)
	if err != nil {
		return 0, err
	}
	moved := 0
	for _, b := range all {
		scope, err := to.Scope(b.scope)
		if err != nil {
			return 0, err
		}
		hash := record.Identity{Scope: scope, Operation: r.To, Key: string(b.key)}.Hash()
		if bytes.Equal(hash[:], b.hash) {
			continue
		}
		if _, err := s.run.exec(ctx, copied, b.hash, hash[:], scope, r.To); err != nil {
			return 0, err
		}
		if err := one(s.run.exec(ctx, `DELETE FROM `+table+` WHERE hash = ?`, b.hash)); err != nil {
			return 0, err
		}
		moved++
	}
	return moved, nil
}

// moveFences lets every fence cover what it covered. One for all operations
// stays and is joined by one for the moved identities.
func moveFences(ctx context.Context, s *session, r Rekey, to *upkeep.Move) (moved int, err error) {
	rows, err := s.conn.QueryContext(ctx, `SELECT id, operation, scope FROM refrain_fence
		WHERE operation = ?1 OR operation = '' AND scope <> '' ORDER BY id`, r.Operation)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	type fence struct {
		id               int64
		operation, scope string
	}
	var all []fence
	for rows.Next() {
		var f fence
		if err := rows.Scan(&f.id, &f.operation, &f.scope); err != nil {
			return 0, err
		}
		all = append(all, f)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return 0, err
	}
	for _, f := range all {
		scope := f.scope
		if next, err := to.Rewritten(f.scope); scope != "" && err == nil { // else it covers none of these records
			scope = next
		}
		switch {
		case f.operation != "":
			_, err = s.run.exec(ctx, `UPDATE refrain_fence SET operation = ?, scope = ? WHERE id = ?`, r.To, scope, f.id)
		case scope == f.scope:
			continue
		default:
			_, err = s.run.exec(ctx, `INSERT INTO refrain_fence (id, operation, scope, until, since, reason, by, at, ended)
				SELECT `+nextFenceSQL+`, ?1, ?2, until, since, reason, by, at, ended FROM refrain_fence WHERE id = ?3`, r.To, scope, f.id)
		}
		if err != nil {
			return 0, err
		}
		moved++
	}
	return moved, nil
}
