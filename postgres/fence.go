package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

const (
	fenceColumns = `f.id, f.operation, f.scope, f.until, f.since, f.reason, f.by, f.at, f.ended`

	setFenceText = `INSERT INTO {schema}.fence (operation, scope, until, since, reason, by, at)
VALUES ($1::text, $2::text, $3::int8, $4::int8, $5::text, $6::text, $7::int8) RETURNING id`
	// withdrawText takes back what was allowed before: an allow of a backup may have
	// been spent in what was lost.
	withdrawText = `DELETE FROM {schema}.allow a WHERE $1::text IN ('', a.operation) AND $2::text IN ('', a.scope)`

	endFenceText  = `UPDATE {schema}.fence f SET ended = $2::int8 WHERE f.id = $1::int8 AND f.ended IS NULL RETURNING ` + fenceColumns
	voidFenceText = `DELETE FROM {schema}.fence f WHERE f.id = $1::int8 RETURNING ` + fenceColumns
)

func scanFence(row scanner) (f upkeep.Fence, err error) {
	var until, at int64
	var since, ended *int64
	err = row.Scan(&f.ID, &f.Operation, &f.Scope, &until, &since, &f.Reason, &f.By, &at, &ended)
	f.Until, f.At = time.UnixMicro(until).UTC(), time.UnixMicro(at).UTC()
	f.Since, f.Ended = instant(since), instant(ended)
	return f, err
}

// Fences implements [upkeep.Retention].
func (s *Store) Fences(ctx context.Context) (fences []upkeep.Fence, err error) {
	err = each(ctx, s.read, func(row scanner) error {
		f, err := scanFence(row)
		fences = append(fences, f)
		return err
	}, s.sql.text(`SELECT `+fenceColumns+` FROM {schema}.fence f ORDER BY f.id`))
	return fences, migrated(err)
}

// SetFence implements [upkeep.Retention].
func (s *Store) SetFence(ctx context.Context, f upkeep.Fence) (int64, error) {
	err := s.write(ctx, func(ctx context.Context, tx runner) error {
		now, err := s.clock(ctx, tx)
		if err != nil {
			return err
		}
		if err := f.Check(now); err != nil {
			return err
		}
		err = tx.row(ctx, s.sql.text(setFenceText), f.Operation, f.Scope, f.Until.UnixMicro(), micros(f.Since), f.Reason, f.By, now.UnixMicro()).Scan(&f.ID)
		if err != nil {
			return err
		}
		if _, err := tx.exec(ctx, s.sql.text(withdrawText), f.Operation, f.Scope); err != nil {
			return err
		}
		return s.audit(ctx, tx, now, f.By, "fence", "", f.Reason, fenceDetail(f))
	})
	return f.ID, migrated(err)
}

// EndFence implements [upkeep.Retention].
func (s *Store) EndFence(ctx context.Context, id int64, by, reason string) error {
	if err := upkeep.Signed(by, reason); err != nil {
		return err
	}
	return s.changeFence(ctx, "fence-end", by, reason, func(now time.Time) (string, []any) {
		return endFenceText, []any{id, now.UnixMicro()}
	})
}

// VoidFence implements [upkeep.Retention].
func (s *Store) VoidFence(ctx context.Context, id int64, by, reason string) error {
	if err := upkeep.Signed(by, reason); err != nil {
		return err
	}
	return s.changeFence(ctx, "fence-void", by, reason, func(time.Time) (string, []any) { return voidFenceText, []any{id} })
}

// changeFence changes the one fence that a statement returns, and says so.
func (s *Store) changeFence(ctx context.Context, action, by, reason string, statement func(now time.Time) (string, []any)) error {
	return migrated(s.write(ctx, func(ctx context.Context, tx runner) error {
		now, err := s.clock(ctx, tx)
		if err != nil {
			return err
		}
		query, args := statement(now)
		f, err := scanFence(tx.row(ctx, s.sql.text(query), args...))
		if errors.Is(err, sql.ErrNoRows) {
			return record.ErrNotFound
		}
		if err != nil {
			return err
		}
		return s.audit(ctx, tx, now, by, action, "", reason, fenceDetail(f))
	}))
}

// fenceDetail names a fence in a line of audit.
func fenceDetail(f upkeep.Fence) string {
	return fmt.Sprintf("fence %d: operation %q, scope %q, until %s", f.ID, f.Operation, f.Scope, f.Until.UTC().Format(time.RFC3339Nano))
}
