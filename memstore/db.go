package memstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

var (
	_ refrain.Executor[Tx] = (*DB)(nil)
	_ record.Store         = (*DB)(nil)
	_ upkeep.Retention     = (*DB)(nil)
)

// ErrClosed says that the store was closed.
var ErrClosed = errors.New("memstore: closed")

// Options configure a store; the zero value works.
type Options struct {
	// Now is the store's clock, time.Now by default.
	Now func() time.Time
	// Observer is told every decision.
	Observer refrain.Observer
	// MaxReviews bounds the late retries kept for review in one scope, by
	// default 1,000.
	MaxReviews int

	// Commit, for tests, is called before a transaction's changes become
	// visible; its error fails the COMMIT, and nothing of it happened.
	Commit func() error
	// Forgetting, for tests, is called in Reap between what it writes and its
	// COMMIT.
	Forgetting func()
}

// DB is a store in memory. Make one with [New].
type DB struct {
	options Options
	driver  record.Driver
	writer  chan struct{} // holds a token while a transaction runs
	seq     int64         // of the newest external operation; the writer's
	fenceID int64         // of the newest fence; the writer's

	mu         sync.RWMutex // guards the tables' rows and all below
	rows       table[rowKey, []byte]
	records    table[record.Identity, stored]
	refs       table[string, record.Identity]
	operations table[string, operationRow]
	fences     table[int64, upkeep.Fence]
	allows     table[record.Identity, struct{}]
	externals  table[string, external]    // external operations, by ref
	steps      table[step, string]        // their refs
	spans      table[string, upkeep.Span] // by Last
	onces      table[onceKey, upkeep.Once]
	reviews    map[record.Identity]upkeep.Review
	held       map[record.Identity]bool // claimed in a caller's transaction, which leads no flight
	audits     []Audit
	closed     bool

	incarnation upkeep.Incarnation
}

type rowKey struct{ table, key string }

// operationRow is what the store knows of one operation.
type operationRow struct {
	identityVersion string
	contract        []byte    // published form, JSON
	horizon         time.Time // latest birth of any final record ever forgotten
}

// New makes an empty store.
func New(options Options) *DB {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.MaxReviews == 0 {
		options.MaxReviews = 1000
	}
	db := &DB{
		options:    options,
		writer:     make(chan struct{}, 1),
		rows:       newTable[rowKey, []byte](),
		records:    newTable[record.Identity, stored](),
		refs:       newTable[string, record.Identity](),
		operations: newTable[string, operationRow](),
		fences:     newTable[int64, upkeep.Fence](),
		allows:     newTable[record.Identity, struct{}](),
		externals:  newTable[string, external](),
		steps:      newTable[step, string](),
		spans:      newTable[string, upkeep.Span](),
		onces:      newTable[onceKey, upkeep.Once](),
		reviews:    make(map[record.Identity]upkeep.Review),
		held:       make(map[record.Identity]bool),

		incarnation: upkeep.Incarnation{Store: newStore(), Epoch: 1},
	}
	db.driver.Load, db.driver.Change = db.Load, db.Change
	return db
}

// tables are those a transaction changes.
func (db *DB) tables() [10]interface {
	apply()
	discard()
} {
	return [...]interface {
		apply()
		discard()
	}{&db.rows, &db.records, &db.refs, &db.operations, &db.fences, &db.allows, &db.externals, &db.steps, &db.spans, &db.onces}
}

// Close makes every later call fail. A running transaction fails at its COMMIT.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.closed = true
	return nil
}

// Register stores the contracts and checks them against the stored ones: where
// the identity version of an operation differs it is [refrain.ErrContractChanged],
// where its memory is shorter [refrain.ErrShorterMemory], and nothing is stored.
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
	return db.within(ctx, func(t *transaction) error {
		for _, c := range contracts {
			op, known := db.operations.get(c.Operation, true)
			if !known || op.identityVersion == "" { // "": only a horizon so far
				op.identityVersion = c.IdentityVersion()
			}
			err := c.Supersedes(op.identityVersion, op.contract)
			if err != nil && !(shorter && errors.Is(err, refrain.ErrShorterMemory)) {
				return err
			}
			if known && c.KeyTime.ReadsMore(upkeep.KeyTime(op.contract)) { // what was forgotten raised no horizon
				op.horizon = later(op.horizon, record.Micro(db.options.Now()))
			}
			if op.contract, err = c.MarshalJSON(); err != nil {
				return err
			}
			db.operations.put(t, c.Operation, op)
		}
		return nil
	})
}

// Contracts returns the registered contracts by operation, in their published
// form, JSON.
func (db *DB) Contracts(ctx context.Context) (map[string]string, error) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if err := db.readable(ctx); err != nil {
		return nil, err
	}
	contracts := make(map[string]string)
	for id, op := range db.operations.all(false) {
		contracts[id] = string(op.contract)
	}
	return contracts, nil
}

// Horizon returns the latest birth of any final record of the operation ever
// forgotten; zero if none was.
func (db *DB) Horizon(ctx context.Context, operation string) (time.Time, error) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if err := db.readable(ctx); err != nil {
		return time.Time{}, err
	}
	op, _ := db.operations.get(operation, false)
	return op.horizon, nil
}

// readable refuses readers, who hold mu, whose time is over or who come too late.
func (db *DB) readable(ctx context.Context) error {
	if db.closed {
		return ErrClosed
	}
	return ctx.Err()
}

// operation returns the stored operation, new if there is none; its identity
// version must be the caller's.
func (t *transaction) operation(id, identityVersion string) (operationRow, error) {
	op, known := t.db.operations.get(id, true)
	switch {
	case !known || op.identityVersion == "": // "": only a horizon so far
		op.identityVersion = identityVersion
	case op.identityVersion != identityVersion:
		return op, &record.Error{Problem: record.ContractChanged, Row: "9", RetryAfter: time.Second,
			Err: fmt.Errorf("operation %q: the store holds identity version %q, the contract has %q", id, op.identityVersion, identityVersion)}
	}
	return op, nil
}
