package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/upkeep"
)

// Register stores the contracts this process works by and reports, at start,
// what would fail or surprise later: [refrain.ErrContractChanged] when the store
// keeps an operation by other scope dimensions, [refrain.ErrShorterMemory] when
// it keeps a longer memory. Nothing is stored then. Records keep the deadlines
// they have. A process that does not call it is checked for the dimensions at
// each lookup.
func (db *DB) Register(ctx context.Context, contracts ...refrain.Contract) error {
	return db.register(ctx, contracts, false)
}

// RegisterShorter is Register for somebody who has agreed to a shorter memory.
func (db *DB) RegisterShorter(ctx context.Context, contracts ...refrain.Contract) error {
	return db.register(ctx, contracts, true)
}

func (db *DB) register(ctx context.Context, contracts []refrain.Contract, shorter bool) error {
	for _, c := range contracts {
		if err := c.Validate(); err != nil {
			return err
		}
	}
	return db.writing(ctx, func(ctx context.Context, s *session) error {
		for _, c := range contracts {
			if err := db.registerOne(ctx, s.run, c, shorter); err != nil {
				return err
			}
		}
		return nil
	})
}

func (db *DB) registerOne(ctx context.Context, q runner, c refrain.Contract, shorter bool) error {
	kept, err := knownOperation(ctx, q, c.Operation)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	default:
		err := c.Supersedes(kept.identity, []byte(kept.contract))
		if err != nil && !(shorter && errors.Is(err, refrain.ErrShorterMemory)) {
			return err
		}
		if c.KeyTime.ReadsMore(upkeep.KeyTime([]byte(kept.contract))) {
			if err := one(q.exec(ctx, raiseSQL, db.opts.Now().UnixMicro(), c.Operation)); err != nil {
				return err
			}
		}
	}
	published, err := c.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO refrain_operation (operation, identity, contract) VALUES (?, ?, ?)
		ON CONFLICT (operation) DO UPDATE SET contract = excluded.contract`, c.Operation, c.IdentityVersion(), string(published))
	return err
}

// operationRow is what the store knows of an operation. One whose records were
// moved to another id has no contract.
type operationRow struct {
	identity, contract string
	horizon            time.Time
}

func knownOperation(ctx context.Context, q runner, id string) (o operationRow, err error) {
	err = q.row(ctx, `SELECT identity, contract, horizon FROM refrain_operation WHERE operation = ?`, func(r row) error {
		o = operationRow{r.text(0), r.text(1), instant(r, 2)}
		return nil
	}, id)
	return o, err
}

// Contracts returns the published form of every registered contract by
// operation id, as JSON.
func (db *DB) Contracts(ctx context.Context) (map[string]string, error) {
	rows, err := db.readers.QueryContext(ctx, `SELECT operation, contract FROM refrain_operation WHERE contract <> ''`)
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
