package memstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Load implements [operation.Store].
func (s operations) Load(ctx context.Context, ref string) (operation.Operation, time.Time, error) {
	db := s.db
	db.mu.RLock()
	defer db.mu.RUnlock()
	if err := db.readable(ctx); err != nil {
		return operation.Operation{}, time.Time{}, err
	}
	row, ok := db.externals.get(ref, false)
	if !ok {
		return operation.Operation{}, time.Time{}, record.ErrNotFound
	}
	o, err := row.operation()
	return o, db.options.Now(), err
}

// Of implements [operation.Store].
func (s operations) Of(ctx context.Context, action string) ([]operation.Operation, error) {
	if action == "" {
		return nil, nil
	}
	found, err := s.like(ctx, operation.Operation{Action: action})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// List implements [operation.Store].
func (s operations) List(ctx context.Context, like operation.Operation, limit int) ([]operation.Operation, error) {
	if limit <= 0 {
		limit = 100
	}
	found, err := s.like(ctx, like)
	found = found[:min(limit, 1000, len(found))]
	for i, o := range found {
		found[i] = o.Brief()
	}
	return found, err
}

// like returns the committed operations like the given one, oldest first, and
// why others cannot be read.
func (s operations) like(ctx context.Context, like operation.Operation) ([]operation.Operation, error) {
	db := s.db
	db.mu.RLock()
	defer db.mu.RUnlock()
	if err := db.readable(ctx); err != nil {
		return nil, err
	}
	var found []operation.Operation
	var unread []error
	for _, row := range db.externals.all(false) {
		switch c := row.columns; {
		case like.Provider != "" && like.Provider != c.Provider,
			like.Step != "" && like.Step != c.Step,
			like.Action != "" && like.Action != c.Action,
			like.State != 0 && like.State != c.State,
			like.Disputed && !c.Disputed:
			continue
		}
		o, err := row.operation()
		if err != nil {
			unread = append(unread, err)
			continue
		}
		found = append(found, o)
	}
	slices.SortFunc(found, func(a, b operation.Operation) int { return cmp.Compare(a.Seq, b.Seq) })
	return found, errors.Join(unread...)
}

// Due implements [operation.Store].
func (s operations) Due(ctx context.Context) (map[string]time.Time, time.Time, error) {
	db := s.db
	db.mu.RLock()
	defer db.mu.RUnlock()
	if err := db.readable(ctx); err != nil {
		return nil, time.Time{}, err
	}
	since, now := make(map[string]time.Time), record.Micro(db.options.Now())
	for _, row := range db.externals.all(false) {
		due := row.columns.Due
		if first, known := since[row.columns.Provider]; !due.IsZero() && !due.After(now) && (!known || due.Before(first)) {
			since[row.columns.Provider] = due
		}
	}
	return since, now, nil
}
