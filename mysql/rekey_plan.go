package mysql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
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
func plan(ctx context.Context, tx runner, r Rekey, to *upkeep.Move, now time.Time) (*moves, error) {
	rows, err := tx.QueryContext(ctx, "SELECT n, hash, ref, format, scope, `key`, state = ? AND coalesce(lease, 0) > ?"+
		" FROM refrain_record WHERE operation = ? ORDER BY n"+every, int64(record.Submitted), now.UnixMicro(), []byte(r.Operation))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	m := &moves{at: make(map[[16]byte]int)}
	var refused RekeyError
	var met [][2]int64 // pairs of rows that would become one
	for rows.Next() {
		next, ref, live, err := readMove(rows, r, to)
		if err != nil {
			return nil, err
		}
		if live {
			refused.Live = append(refused.Live, ref)
		}
		if other, taken := m.at[next.hash]; taken {
			met = append(met, [2]int64{m.rows[other].n, next.n})
		}
		m.at[next.hash] = len(m.rows)
		m.rows = append(m.rows, next)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	if r.To != r.Operation {
		taken, err := m.taken(ctx, tx)
		if err != nil {
			return nil, err
		}
		met = append(met, taken...)
	}
	if refused.Collisions, err = named(ctx, tx, met); err != nil {
		return nil, err
	}
	if len(refused.Live)+len(refused.Collisions) > 0 {
		return nil, &refused
	}
	return m, nil
}

func readMove(rows *sql.Rows, r Rekey, to *upkeep.Move) (next move, ref string, live bool, err error) {
	var hash, stored []byte
	var format int
	id := record.Identity{Operation: r.Operation}
	if err := rows.Scan(&next.n, &hash, &stored, &format, &id.Scope, &id.Key, &live); err != nil {
		return next, "", false, err
	}
	if ref, err = decodeRef(stored); err != nil {
		return next, "", false, fmt.Errorf("%w: %w", record.RecordUnreadable, err)
	}
	if want := id.Hash(); !bytes.Equal(hash, want[:]) {
		return next, "", false, fmt.Errorf("%w: %s is not where its identity belongs", record.RecordUnreadable, ref)
	}
	if format > record.Format {
		return next, "", false, fmt.Errorf("%w: %s", record.ErrNewerFormat, ref)
	}
	if next.scope, err = to.Scope(id.Scope); err != nil {
		return next, "", false, err
	}
	next.hash = record.Identity{Scope: next.scope, Operation: r.To, Key: id.Key}.Hash()
	return next, ref, live, nil
}

// taken are the pairs of a record that the new operation has already and one
// that would be it.
func (m *moves) taken(ctx context.Context, tx runner) (met [][2]int64, err error) {
	err = inBatches(m.rows, func(batch []move) error {
		hashes := make([]any, len(batch))
		for i, row := range batch {
			hashes[i] = row.hash[:]
		}
		rows, err := tx.QueryContext(ctx, `SELECT n, hash FROM refrain_record WHERE hash IN (`+marks(len(batch))+`)`+every, hashes...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var n int64
			var hash []byte
			if err := rows.Scan(&n, &hash); err != nil {
				return err
			}
			if at, ours := m.at[[16]byte(hash)]; ours {
				met = append(met, [2]int64{n, m.rows[at].n})
			}
		}
		return errors.Join(rows.Err(), rows.Close())
	})
	return met, err
}

// named are pairs of rows by their refs.
func named(ctx context.Context, tx runner, met [][2]int64) (pairs [][2]string, err error) {
	for _, pair := range met {
		var refs [2]string
		for i, n := range pair {
			var stored []byte
			if err := tx.QueryRowContext(ctx, `SELECT ref FROM refrain_record WHERE n = ? LIMIT 1`, n).Scan(&stored); err != nil {
				return nil, err
			}
			if refs[i], err = decodeRef(stored); err != nil {
				return nil, fmt.Errorf("%w: %w", record.RecordUnreadable, err)
			}
		}
		pairs = append(pairs, refs)
	}
	return pairs, nil
}

// write gives the records their new identities, many with one statement. A new
// version ends what anybody planned with the old one.
func (m *moves) write(ctx context.Context, tx runner, operation string) (int, error) {
	const row = `SELECT ? AS n, ? AS hash, ? AS scope`
	err := inBatches(m.rows, func(batch []move) error {
		args := make([]any, 0, 3*len(batch)+1)
		for _, next := range batch {
			args = append(args, next.n, next.hash[:], []byte(next.scope))
		}
		args = append(args, []byte(operation))
		res, err := tx.ExecContext(ctx, `UPDATE refrain_record r JOIN (`+row+strings.Repeat(` UNION ALL `+row, len(batch)-1)+
			`) m ON m.n = r.n SET r.hash = m.hash, r.scope = m.scope, r.operation = ?, r.version = r.version + 1`, args...)
		if err != nil {
			return err
		}
		changed, err := res.RowsAffected()
		if err == nil && changed != int64(len(batch)) {
			err = fmt.Errorf("%w: %d rows instead of %d", record.ErrSwapped, changed, len(batch))
		}
		return err
	})
	return len(m.rows), err
}
