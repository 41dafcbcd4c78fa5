package mysql

import (
	"context"
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain/record"
)

// Swap is the compare-and-swap of [record.Store].
func (db *DB) Swap(ctx context.Context, old, next record.Record) (record.Record, error) {
	if old.Ref != "" && (old.Ref != next.Ref || old.Identity != next.Identity) {
		return record.Record{}, errors.New("mysql: Swap keeps ref and identity")
	}
	next.Version = old.Version + 1
	next.Format = record.Format
	err := db.writing(ctx, func(ctx context.Context, tx runner) error {
		return db.waiting(ctx, func(ctx context.Context) error { return swap(ctx, tx, old, next) })
	})
	if err != nil {
		return record.Record{}, err
	}
	return next, nil
}

func swap(ctx context.Context, tx runner, old, next record.Record) error {
	hash := next.Identity.Hash()
	if old.Ref != "" {
		if err := remove(ctx, tx, &old, hash); err != nil {
			return err
		}
	} else {
		found, err := lookup(ctx, tx, next.Identity, hash)
		if err == nil && found.Record != nil {
			err = record.ErrSwapped
		}
		if err != nil {
			return err
		}
	}
	err := insert(ctx, tx, &next, hash, "")
	if lostRace(err) { // not to be run again: it is the answer
		err = fmt.Errorf("%w: another transaction was first", record.ErrSwapped)
	}
	return err
}
