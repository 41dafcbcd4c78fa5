package refrain

import (
	"context"
	"database/sql"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Executor runs one logical action inside one transaction of type T.
//
// Execute commits the effect and its record together, or neither. It returns
// the outcome, its own or a replayed one, or an [*Error]. The effect may run
// again after a serialization failure, a deadlock or because a neighbour in the
// same group failed; only its database work is undone, so it does nothing else.
// It must not keep tx, nor use it in another goroutine after it returned.
//
// An effect that returns an error is rolled back and nothing is recorded,
// except for [Reject], which is recorded.
type Executor[T any] interface {
	Execute(ctx context.Context, call Call, effect func(ctx context.Context, tx T) (Result, error)) (Outcome, error)
}

// SQLTx is what an effect needs of a database/sql transaction. *sql.Tx and
// *sql.Conn satisfy it, and so do the handles sqlc and gorm give out.
type SQLTx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Identity names one intended action: scope, operation and key.
type Identity = record.Identity

// Result is what an effect answered, as it is stored and replayed.
type Result = record.Result

// Outcome is a final, committed answer. Under ExecuteIn it is provisional until
// the caller's transaction commits and must not be shown before.
type Outcome struct {
	Result
	Ref           string
	State         record.State
	Replayed      bool   // the effect did not run for this call
	Actor         string // who acted, as the first call named them
	CreatedAt     time.Time
	ReplayUntil   time.Time
	RememberUntil time.Time
}

// Running is what an effect or a guarded handler can know about its own action.
type Running struct {
	Scope     Scope
	Operation string
	Ref       string // stamp it on the business row, with a unique index
	Attempt   int
	// Fence rises with every attempt of the action. A handler that commits for
	// itself can keep a paused, older attempt from overwriting a newer one:
	// UPDATE … SET …, fence = ? WHERE id = ? AND fence <= ?
	Fence int64
}

// CallFrom returns the action that runs on ctx, ok = false outside an effect.
func CallFrom(ctx context.Context) (running Running, ok bool) {
	rec, ok := record.Entered(ctx)
	if !ok {
		return Running{}, false
	}
	return Running{Scope{rec.Identity.Scope}, rec.Identity.Operation, rec.Ref, rec.Attempt, rec.Fence}, true
}
