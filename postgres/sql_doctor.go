package postgres

import (
	"context"

	"github.com/refrain-dev/refrain/upkeep"
)

// Doctor implements [upkeep.Keeper]. It looks at one connection of the handle to
// say whether a COMMIT's notices are heard.
func (db *SQL) Doctor(ctx context.Context) ([]upkeep.Check, error) {
	leave, err := db.tasks.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	conn, err := db.connect(ctx)
	if err != nil {
		return nil, err
	}
	store := db.Store
	store.notices = hooksOn(conn) != nil
	store.pool = db.handle.Stats().MaxOpenConnections
	_ = conn.Close() // the handle may have no other one
	return store.Doctor(ctx)
}
