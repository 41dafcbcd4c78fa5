package memstore

import (
	"context"

	"github.com/refrain-dev/refrain/operation"
)

// DamageOperation breaks a stored operation behind the store's back.
func (db *DB) DamageOperation(ctx context.Context, ref string, newer bool) error {
	return db.within(ctx, func(t *transaction) error {
		row, _ := db.externals.get(ref, true)
		if newer {
			row.format = operation.Format + 1
		} else {
			row.text = []byte("{")
		}
		db.externals.put(t, ref, row)
		return nil
	})
}

// OperationRows counts the operations that are kept.
func (db *DB) OperationRows() int {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return len(db.externals.rows)
}
