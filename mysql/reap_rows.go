package mysql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// reapRow is what a reaper reads of a record, with its number.
type reapRow struct {
	upkeep.Row
	n int64
}

const reapColumns = "n, ref, version, format, state, disputed, hash, scope, operation, `key`, created, final, replay_until, remember_until, digest IS NULL"

const (
	reapSQL = `SELECT ` + reapColumns + ` FROM refrain_record FORCE INDEX (refrain_record_ref) WHERE ref > ? AND ref `
	// inSpanSQL reads a span, newSQL what stands behind all spans and before a ref.
	inSpanSQL = reapSQL + `<= ? ORDER BY ref LIMIT ?`
	newSQL    = reapSQL + `< ? ORDER BY ref LIMIT ?`

	lockRowsSQL = `SELECT ` + reapColumns + ` FROM refrain_record WHERE n IN (`
	pendingSQL  = `SELECT action FROM refrain_external FORCE INDEX (refrain_external_step) WHERE (final IS NULL OR disputed) AND action IN (`
)

// read looks at records without locking them.
func (b *reaping) read(ctx context.Context, query string, after, last []byte, limit int) ([]reapRow, error) {
	rows, err := readReap(b.tx.QueryContext(ctx, query, after, last, limit))
	if err != nil {
		return nil, err
	}
	pending, err := b.pending(ctx, rows)
	for i, r := range rows {
		rows[i].Settled = r.Settled && !pending[r.Ref]
	}
	return rows, err
}

func readReap(rows *sql.Rows, err error) (all []reapRow, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanAny(rows, 15)
		if err != nil {
			return nil, err
		}
		row := reapRow{n: r.integer(0), Row: upkeep.Row{
			Version: r.integer(2), Identity: record.Identity{Scope: r.text(7), Operation: r.text(8), Key: r.text(9)}, Kept: r.integer(14) != 0,
			Created: r.instant(10), ReplayUntil: r.instant(12), RememberUntil: r.instant(13),
		}}
		if row.Ref, err = decodeRef(r.blob(1)); err != nil {
			return nil, err
		}
		hash := row.Identity.Hash()
		row.Settled = record.State(r.integer(4)).Final() && r.integer(5) == 0 && r.integer(3) <= record.Format &&
			bytes.Equal(r.blob(6), hash[:]) && !r.null(11) && !r.null(12) && !r.null(13)
		all = append(all, row)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// pending are the actions with an external operation that is not settled.
func (b *reaping) pending(ctx context.Context, rows []reapRow) (map[string]bool, error) {
	actions := make(map[string]bool)
	err := inBatches(rows, func(part []reapRow) error {
		refs := make([]any, len(part))
		for i, r := range part {
			refs[i] = encodeRef(r.Ref)
		}
		found, err := b.tx.QueryContext(ctx, pendingSQL+marks(len(refs))+`)`+every, refs...)
		if err != nil {
			return err
		}
		defer found.Close()
		for found.Next() {
			r, err := scanAny(found, 1)
			if err != nil {
				return err
			}
			ref, err := decodeRef(r.blob(0))
			if err != nil {
				return err
			}
			actions[ref] = true
		}
		return errors.Join(found.Err(), found.Close())
	})
	return actions, err
}

// lock are those of rows that are as they were read and that nobody else works on.
func (b *reaping) lock(ctx context.Context, rows []reapRow) (locked []reapRow, err error) {
	wanted := make(map[int64]upkeep.Row, len(rows))
	for _, r := range rows {
		wanted[r.n] = r.Row
	}
	err = inBatches(rows, func(part []reapRow) error {
		got, err := readReap(b.tx.QueryContext(ctx, lockRowsSQL+marks(len(part))+`)`+every+unheld, numbersOf(part)...))
		for _, r := range got {
			if r.Row == wanted[r.n] {
				locked = append(locked, r)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	pending, err := b.pending(ctx, locked) // no more of them come, now that the records are locked
	if len(pending) > 0 {
		var free []reapRow
		for _, r := range locked {
			if !pending[r.Ref] {
				free = append(free, r)
			}
		}
		locked = free
	}
	if len(locked) < len(rows) {
		b.stays(b.now.Add(missed))
	}
	return locked, err
}
