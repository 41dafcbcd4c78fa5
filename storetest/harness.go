package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Env is what the suite gives an engine when it opens one.
type Env struct {
	// Now is the store's clock. It may return times of any zone and moves only
	// when the suite says so. Every connection to one store uses the same.
	Now func() time.Time
	// Commit is to be called right before each COMMIT that makes an effect and
	// its record durable; when it returns an error the COMMIT must fail.
	Commit func() error
	// Forgetting is to be called inside Reap's transaction, after what it writes
	// and before its COMMIT.
	Forgetting func()
}

// Harness is one open, empty store under test. The function given to [Run]
// makes it, for a transaction type T, and closes it in t.Cleanup; closing twice
// must do no harm. Fields marked optional may be nil if [Features] says so.
type Harness[T any] struct {
	Exec  refrain.Executor[T]
	Store record.Store // an upkeep.Retention, too

	// Register stores contracts and checks identity versions at start-up.
	Register func(ctx context.Context, contracts ...refrain.Contract) error
	// Write is one business row: an insertion of id into a table of the store,
	// made for the suite, through tx. Ids are distinct and at most 200 bytes.
	Write func(ctx context.Context, tx T, id string) error
	// Effects returns the ids of all committed business rows in any order. It
	// reads past the engine: with the driver, not the Executor.
	Effects func(ctx context.Context) ([]string, error)
	// Close closes this connection; every later call of Exec and Store fails.
	Close func() error

	// Reopen opens another, independent connection to the same data: own pool,
	// own flights, as another process would; it is closed in t.Cleanup. Optional: NoReopen.
	Reopen func(t testing.TB) *Harness[T]

	// Begin starts a transaction of the caller's, and end commits it or rolls it
	// back. ExecuteIn joins it. Optional: NoExecuteIn.
	Begin     func(ctx context.Context) (tx T, end func(commit bool) error, err error)
	ExecuteIn func(ctx context.Context, tx T, call refrain.Call, effect func(ctx context.Context, tx T) (refrain.Result, error)) (refrain.Outcome, error)

	// Fence sets a fence; Allow an allow; Reviews says how often each identity
	// kept for review was refused. Optional: NoStanding.
	Fence   func(ctx context.Context, f Fence) error
	Allow   func(ctx context.Context, id record.Identity) error
	Reviews func(ctx context.Context) (map[record.Identity]int, error)

	// Once is the engine's: a value that its rule holds for ever. Optional: NoOnce.
	Once func(ctx context.Context, tx T, rule, value string) error

	// Audits returns what operators did, oldest first. Optional: NoAudits.
	Audits func(ctx context.Context) ([]Audit, error)

	// Damage breaks the stored record of id behind the engine's back. Optional:
	// NoDamage.
	Damage func(ctx context.Context, id record.Identity, how Damage) error

	// FailStatement runs a statement that fails in a way that makes the
	// transaction unusable, and returns its error. Optional: NoPoison.
	FailStatement func(ctx context.Context, tx T) error
}

// Fence is a recovery fence as the suite sets it; "" covers all operations or
// all scopes.
type Fence struct {
	Operation string
	Scope     string // encoded, refrain.Scope.String
	Until     time.Time
	Ended     bool
}

// Audit is one line of what an operator did.
type Audit struct {
	At                              time.Time
	By, Action, Ref, Reason, Detail string
}

// Damage is a way to break a stored record.
type Damage int

const (
	// Garbled makes the record undecodable: row 16.
	Garbled Damage = iota + 1
	// Foreign makes it name another identity under the same hash: row 16.
	Foreign
	// Newer makes its format one that a later version writes: row 9.
	Newer
)

// Features says what an engine cannot do. What is not excused here must be in
// the harness: a property is never skipped by accident.
type Features struct {
	NoReopen     bool // no second connection to the same data
	NoExecuteIn  bool // cannot join a caller's transaction
	NoCommit     bool // cannot let Env.Commit fail a COMMIT
	NoForgetting bool // cannot park Reap by Env.Forgetting
	NoStanding   bool // no fences, allows and reviews
	NoAudits     bool // lines of audit cannot be read
	NoDamage     bool
	NoOnce       bool // this kind of transaction holds no values for ever
	NoPoison     bool // a failed statement leaves a transaction usable
	NoMigrations bool // every store has its tables
	OneWriter    bool // transactions that write are never open at once
	// MaxBody is the longest result body the engine keeps, in bytes; 0 means at
	// least 17 MiB.
	MaxBody int64
	// Rounds is how many races against a reaper are run; 0 means 20.
	Rounds int
}

// missing names what the harness lacks without an excuse.
func (h *Harness[T]) missing(f Features) []string {
	var names []string
	for _, field := range []struct {
		name    string
		present bool
	}{
		{"Exec", h.Exec != nil},
		{"Store", h.Store != nil},
		{"Register", h.Register != nil},
		{"Write", h.Write != nil},
		{"Effects", h.Effects != nil},
		{"Close", h.Close != nil},
		{"Reopen", h.Reopen != nil || f.NoReopen},
		{"Begin", h.Begin != nil || f.NoExecuteIn},
		{"ExecuteIn", h.ExecuteIn != nil || f.NoExecuteIn},
		{"Fence", h.Fence != nil || f.NoStanding},
		{"Allow", h.Allow != nil || f.NoStanding},
		{"Reviews", h.Reviews != nil || f.NoStanding},
		{"Once", h.Once != nil || f.NoOnce},
		{"Audits", h.Audits != nil || f.NoAudits},
		{"Damage", h.Damage != nil || f.NoDamage},
		{"FailStatement", h.FailStatement != nil || f.NoPoison},
	} {
		if !field.present {
			names = append(names, field.name)
		}
	}
	return names
}
