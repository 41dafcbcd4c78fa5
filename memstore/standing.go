package memstore

import (
	"context"

	"github.com/refrain-dev/refrain/record"
)

// Allow lets one refused identity execute once; the effect's transaction
// spends it.
func (db *DB) Allow(ctx context.Context, id record.Identity) error {
	return db.within(ctx, func(t *transaction) error {
		db.allows.put(t, id, struct{}{})
		return nil
	})
}

// Tamper changes a stored record behind the store's back, for tests:
// [record.ErrNotFound] when there is none.
func (db *DB) Tamper(ctx context.Context, id record.Identity, change func(rec *record.Record)) error {
	return db.within(ctx, func(t *transaction) error {
		row, ok := db.records.get(id, true)
		if !ok {
			return record.ErrNotFound
		}
		row.rec = clone(row.rec)
		change(row.rec)
		db.records.put(t, id, row)
		return nil
	})
}
