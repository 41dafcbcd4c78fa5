package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Load implements [operation.Store].
func (s operations) Load(ctx context.Context, ref string) (operation.Operation, time.Time, error) {
	o, err := findOperation(ctx, s.db.lookups, ref)
	return o, s.db.opts.Now(), migrated(err)
}

func findOperation(ctx context.Context, q runner, ref string) (o operation.Operation, err error) {
	if !record.ValidRef(ref) {
		return o, record.ErrNotFound
	}
	err = q.row(ctx, `SELECT `+operationColumns+` FROM refrain_external e WHERE e.ref = ?`, func(r row) error {
		o, err = decodeOperation(r)
		return err
	}, ref)
	if errors.Is(err, sql.ErrNoRows) {
		err = record.ErrNotFound
	}
	return o, err
}

// Of implements [operation.Store].
func (s operations) Of(ctx context.Context, action string) ([]operation.Operation, error) {
	if !record.ValidRef(action) {
		return nil, nil
	}
	all, unread, err := s.read(ctx, `SELECT `+operationColumns+` FROM refrain_external e WHERE e.action = ? ORDER BY e.seq`, action)
	if err = cmp.Or(err, errors.Join(unread...)); err != nil {
		return nil, err
	}
	return all, nil
}

// List implements [operation.Store].
func (s operations) List(ctx context.Context, like operation.Operation, limit int) ([]operation.Operation, error) {
	if limit <= 0 {
		limit = 100
	}
	all, unread, err := s.read(ctx, `SELECT `+briefColumns+` FROM refrain_external e
		WHERE (?1 = '' OR e.provider = ?1) AND (?2 = '' OR e.step = ?2) AND (?3 = '' OR e.action = ?3) AND (?4 = 0 OR e.state = ?4)
			AND (NOT ?5 OR e.disputed) ORDER BY e.seq LIMIT ?6`,
		like.Provider, like.Step, like.Action, int(like.State), like.Disputed, min(limit, 1000))
	for i, o := range all {
		all[i] = o.Brief()
	}
	return all, cmp.Or(err, errors.Join(unread...))
}

// read also tells of the operations that it cannot read.
func (s operations) read(ctx context.Context, query string, args ...any) (all []operation.Operation, unread []error, err error) {
	rows, err := s.db.readers.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, nil, migrated(err)
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanAny(rows)
		if err != nil {
			return nil, nil, err
		}
		o, err := decodeOperation(r)
		if err != nil {
			unread = append(unread, fmt.Errorf("sqlite: operation %s: %w", o.Ref, err))
			continue
		}
		all = append(all, o)
	}
	if err := rows.Err(); err != nil {
		return nil, nil, err
	}
	return all, unread, nil
}

// Due implements [operation.Store].
func (s operations) Due(ctx context.Context) (map[string]time.Time, time.Time, error) {
	now := s.db.opts.Now()
	rows, err := s.db.readers.QueryContext(ctx, `SELECT provider, min(due) FROM refrain_external WHERE due <= ? GROUP BY provider`, now.UnixMicro())
	if err != nil {
		return nil, time.Time{}, migrated(err)
	}
	defer rows.Close()
	since := make(map[string]time.Time)
	for rows.Next() {
		r, err := scanAny(rows)
		if err != nil {
			return nil, time.Time{}, err
		}
		since[r.text(0)] = instant(r, 1)
	}
	return since, now, rows.Err()
}
