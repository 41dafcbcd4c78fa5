package postgres

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
func (s *Store) Register(ctx context.Context, contracts ...refrain.Contract) error {
	return s.register(ctx, contracts, false)
}

// RegisterShorter is Register for somebody who has agreed to a shorter memory.
func (s *Store) RegisterShorter(ctx context.Context, contracts ...refrain.Contract) error {
	return s.register(ctx, contracts, true)
}

func (s *Store) register(ctx context.Context, contracts []refrain.Contract, shorter bool) error {
	for _, c := range contracts {
		if err := c.Validate(); err != nil {
			return err
		}
	}
	return migrated(s.write(ctx, func(ctx context.Context, tx runner) error {
		for _, c := range contracts {
			if err := s.registerOne(ctx, tx, c, shorter); err != nil {
				return err
			}
		}
		return nil
	}))
}

// registerOne inserts first: of two processes that begin at once the later one
// waits here and then compares.
func (s *Store) registerOne(ctx context.Context, tx runner, c refrain.Contract, shorter bool) error {
	published, err := c.MarshalJSON()
	if err != nil {
		return err
	}
	kept, err := s.operation(ctx, tx, c.Operation, "")
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	case kept.identity == c.IdentityVersion() && kept.contract == string(published):
		return nil // as at every start but the first: nobody is waited for
	}
	n, err := tx.exec(ctx, s.sql.learn, c.Operation, c.IdentityVersion(), string(published))
	if err != nil || n == 1 {
		return err
	}
	if kept, err = s.operation(ctx, tx, c.Operation, "FOR UPDATE"); err != nil {
		return err
	}
	err = c.Supersedes(kept.identity, []byte(kept.contract))
	if err != nil && !(shorter && errors.Is(err, refrain.ErrShorterMemory)) {
		return err
	}
	if c.KeyTime.ReadsMore(upkeep.KeyTime([]byte(kept.contract))) {
		if err := s.raiseToNow(ctx, tx, c.Operation); err != nil {
			return err
		}
	}
	_, err = tx.exec(ctx, s.sql.text(`UPDATE {schema}.operation SET contract = $2::text WHERE operation = $1::text`), c.Operation, string(published))
	return err
}

// raiseToNow covers what was forgotten while the time in its key was not read.
func (s *Store) raiseToNow(ctx context.Context, tx runner, operation string) error {
	now, err := s.clock(ctx, tx)
	if err == nil {
		_, err = tx.exec(ctx, s.sql.text(`UPDATE {schema}.operation SET horizon = greatest(horizon, $2::int8) WHERE operation = $1::text`), operation, now.UnixMicro())
	}
	return err
}

// operationRow is what the store knows of an operation. One whose records were
// moved to another id has no contract.
type operationRow struct {
	identity, contract string
	horizon            time.Time
}

// operation reads the row, locked by lock; sql.ErrNoRows when there is none.
func (s *Store) operation(ctx context.Context, q runner, id, lock string) (o operationRow, err error) {
	var horizon *int64
	err = q.row(ctx, s.sql.text(`SELECT identity, contract, horizon FROM {schema}.operation WHERE operation = $1::text `+lock), id).
		Scan(&o.identity, &o.contract, &horizon)
	o.horizon = instant(horizon)
	return o, err
}

// Contracts returns the published form of every registered contract by
// operation id, as JSON.
func (s *Store) Contracts(ctx context.Context) (map[string]string, error) {
	contracts := make(map[string]string)
	err := each(ctx, s.read, func(r scanner) error {
		var operation, contract string
		err := r.Scan(&operation, &contract)
		contracts[operation] = contract
		return err
	}, s.sql.text(`SELECT operation, contract FROM {schema}.operation WHERE contract <> ''`))
	if err != nil {
		return nil, migrated(err)
	}
	return contracts, nil
}

// Horizon returns the latest birth of any final record of the operation ever
// forgotten; zero if none was.
func (s *Store) Horizon(ctx context.Context, operation string) (time.Time, error) {
	o, err := s.operation(ctx, s.read, operation, "")
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return o.horizon, migrated(err)
}
