package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain"
)

// Register stores the contracts this process works by and reports, at start,
// what would fail later: [refrain.ErrContractChanged] when the store keeps an
// operation by other scope dimensions. Nothing is stored then. A process that
// does not call it is checked at each lookup.
func (db *DB) Register(ctx context.Context, contracts ...refrain.Contract) error {
	for _, c := range contracts {
		if err := c.Validate(); err != nil {
			return err
		}
	}
	return db.writing(ctx, func(ctx context.Context, s *session) error {
		for _, c := range contracts {
			if err := register(ctx, s.run, c); err != nil {
				return err
			}
		}
		return nil
	})
}

func register(ctx context.Context, q runner, c refrain.Contract) error {
	var identity string
	err := q.row(ctx, `SELECT identity FROM refrain_operation WHERE operation = ?`, func(r row) error {
		identity = r.text(0)
		return nil
	}, c.Operation)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err == nil && identity != c.IdentityVersion() {
		return fmt.Errorf("%w: the store keeps %q by %s, this contract by %s; use another operation id, or restore the dimensions",
			refrain.ErrContractChanged, c.Operation, identity, c.IdentityVersion())
	}
	published, err := c.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO refrain_operation (operation, identity, contract) VALUES (?, ?, ?)
		ON CONFLICT (operation) DO UPDATE SET contract = excluded.contract`, c.Operation, c.IdentityVersion(), string(published))
	return err
}

// Contracts returns the published form of every registered contract by
// operation id, as JSON.
func (db *DB) Contracts(ctx context.Context) (map[string]string, error) {
	rows, err := db.readers.QueryContext(ctx, `SELECT operation, contract FROM refrain_operation`)
	if err != nil {
		return nil, migrated(err)
	}
	defer rows.Close()
	contracts := make(map[string]string)
	for rows.Next() {
		var operation, contract string
		if err := rows.Scan(&operation, &contract); err != nil {
			return nil, err
		}
		contracts[operation] = contract
	}
	return contracts, rows.Err()
}

// Horizon returns the latest birth of any final record of the operation ever
// forgotten; zero if none was.
func (db *DB) Horizon(ctx context.Context, operation string) (horizon time.Time, err error) {
	err = db.lookups.row(ctx, `SELECT horizon FROM refrain_operation WHERE operation = ?`, func(r row) error {
		horizon = instant(r, 0)
		return nil
	}, operation)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return horizon, migrated(err)
}
