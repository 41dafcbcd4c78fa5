package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
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
	// In one order, or processes that start together would lock each other out.
	contracts = slices.SortedStableFunc(slices.Values(contracts), func(a, b refrain.Contract) int { return cmp.Compare(a.Operation, b.Operation) })
	return db.writing(ctx, func(ctx context.Context, tx runner) error {
		for _, c := range contracts {
			if err := db.registerOne(ctx, tx, c, shorter); err != nil {
				return err
			}
		}
		return nil
	})
}

func (db *DB) registerOne(ctx context.Context, tx runner, c refrain.Contract, shorter bool) error {
	published, err := c.MarshalJSON()
	if err != nil {
		return err
	}
	if same, err := db.registered(ctx, tx, c, published); err != nil || same {
		return err // as at every start but the first: nobody is kept from the row
	}
	kept, known, err := db.lockOperation(ctx, tx, c.Operation)
	if err == nil && !known {
		kept, err = db.newOperation(ctx, tx, c.Operation, c.IdentityVersion(), published)
	}
	if err != nil {
		return err
	}
	err = c.Supersedes(kept.identity, []byte(kept.contract))
	if err != nil && !(shorter && errors.Is(err, refrain.ErrShorterMemory)) {
		return err
	}
	if c.KeyTime.ReadsMore(upkeep.KeyTime([]byte(kept.contract))) { // what was forgotten raised no horizon
		now, err := db.clock(ctx, tx)
		if err == nil {
			err = raiseTo(ctx, tx, c.Operation, now)
		}
		if err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `UPDATE refrain_operation SET contract = ? WHERE operation = ?`, published, []byte(c.Operation))
	return err
}

// registered reports whether exactly this contract is stored, without a lock.
func (db *DB) registered(ctx context.Context, tx runner, c refrain.Contract, published []byte) (bool, error) {
	var r anyRow
	err := db.waiting(ctx, func(ctx context.Context) (err error) {
		r, err = scanAny(tx.QueryRowContext(ctx, `SELECT identity, contract FROM refrain_operation WHERE operation = ? LIMIT 1`, []byte(c.Operation)), 2)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil && r.text(0) == c.IdentityVersion() && r.text(1) == string(published), err
}

// operationRow is what the store knows of an operation. One whose records were
// moved to another id has no contract.
type operationRow struct {
	identity, contract string
	horizon            time.Time
}

// lockOperation reads the row of an operation and keeps everybody else from it:
// who writes a record holds it shared until its COMMIT.
func (db *DB) lockOperation(ctx context.Context, tx runner, id string) (o operationRow, known bool, err error) {
	var r anyRow
	err = db.waiting(ctx, func(ctx context.Context) (err error) {
		r, err = scanAny(tx.QueryRowContext(ctx, `SELECT identity, contract, horizon FROM refrain_operation WHERE operation = ? LIMIT 1 FOR UPDATE`, []byte(id)), 3)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return o, false, nil
	}
	if err != nil {
		return o, false, err
	}
	return operationRow{r.text(0), r.text(1), r.instant(2)}, true, nil
}

// newOperation inserts the row of an operation and returns what stands there and
// is locked: another transaction may have been faster.
func (db *DB) newOperation(ctx context.Context, tx runner, id, identity string, contract []byte) (operationRow, error) {
	err := db.waiting(ctx, func(ctx context.Context) error {
		_, err := tx.ExecContext(ctx, learnSQL, []byte(id), []byte(identity), contract)
		return err
	})
	if err != nil {
		return operationRow{}, err
	}
	o, _, err := db.lockOperation(ctx, tx, id)
	return o, err
}

// Contracts returns the published form of every registered contract by
// operation id, as JSON.
func (db *DB) Contracts(ctx context.Context) (map[string]string, error) {
	contracts := make(map[string]string)
	err := db.reading(ctx, func(ctx context.Context, q runner) error {
		rows, err := q.QueryContext(ctx, `SELECT operation, contract FROM refrain_operation WHERE length(contract) > 0`+every)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var operation, contract string
			if err := rows.Scan(&operation, &contract); err != nil {
				return err
			}
			contracts[operation] = contract
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return contracts, nil
}

// Horizon returns the latest birth of any final record of the operation ever
// forgotten; zero if none was.
func (db *DB) Horizon(ctx context.Context, operation string) (horizon time.Time, err error) {
	err = db.reading(ctx, func(ctx context.Context, q runner) error {
		r, err := scanAny(q.QueryRowContext(ctx, `SELECT horizon FROM refrain_operation WHERE operation = ? LIMIT 1`, []byte(operation)), 1)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			horizon = r.instant(0)
		}
		return err
	})
	return horizon, err
}
