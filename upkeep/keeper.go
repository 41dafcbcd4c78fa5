// Package upkeep is what an engine offers those who run it: migrations,
// registered contracts, a doctor, and what operators see and repair.
package upkeep

import (
	"context"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Keeper is the upkeep of one database. Every engine is one.
type Keeper interface {
	record.Store
	Retention

	// Migrate brings the database to this binary's schema. Concurrent calls are
	// safe; a newer schema is [refrain.ErrNewerSchema] and stays untouched.
	Migrate(ctx context.Context) error
	// MigrationStatus reads how far the database is migrated; it changes nothing.
	MigrationStatus(ctx context.Context) (Status, error)
	// Doctor reads the settings that decide what the engine can promise. It
	// changes nothing.
	Doctor(ctx context.Context) ([]Check, error)

	// Register stores the contracts a process works by. It stores nothing and
	// returns [refrain.ErrContractChanged] when the store keeps an operation by
	// other scope dimensions, [refrain.ErrShorterMemory] when it keeps a longer
	// memory; RegisterShorter is for somebody who has agreed to that.
	Register(ctx context.Context, contracts ...refrain.Contract) error
	RegisterShorter(ctx context.Context, contracts ...refrain.Contract) error
	// Contracts returns the published form of every registered contract by
	// operation id, as JSON.
	Contracts(ctx context.Context) (map[string]string, error)
	// Horizon returns the latest birth of any final record of the operation ever
	// forgotten; zero if none was.
	Horizon(ctx context.Context, operation string) (time.Time, error)
	// Rekey rewrites the identity of every record of an operation and of what
	// stands beside them, in one transaction. It refuses with a [RekeyError],
	// with [record.ErrNotFound] for an operation the store does not know, and
	// with [ErrRekey] for identities that make no contract.
	Rekey(ctx context.Context, r Rekey) (Rekeyed, error)

	// Oldest returns records as they stand at the store's time, which it
	// returns, too: oldest first and without bodies.
	Oldest(ctx context.Context, q Query) ([]record.Record, time.Time, error)
	// Standing returns the record with ref as it stands at the store's time,
	// which it returns, too, or [record.ErrNotFound].
	Standing(ctx context.Context, ref string) (record.Record, time.Time, error)
	// Audits returns what was done to the record with ref, oldest first.
	Audits(ctx context.Context, ref string) ([]Audit, error)

	// Close waits for what is under way and closes what the engine opened.
	Close(ctx context.Context) error
}
