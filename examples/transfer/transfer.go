// Package transfer moves money between accounts, safe to retry, without HTTP:
// for jobs, consumers and command-line tools.
package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/sqlite"
)

// Order asks to move Cents.
type Order struct {
	From, To string
	Cents    int64
}

// Receipt is what a transfer answered: the payer's balance right after it, as
// it was then, also when it is told again later.
type Receipt struct {
	Balance int64
}

// Contract is the policy of transfers. The keys are ids of the payer's own
// making and bear no time.
var Contract = refrain.Contract{
	Operation: "transfers.make", Schema: "1", KeyTime: refrain.KeyTimeNone,
	ReplayFor: 7 * 24 * time.Hour, RememberFor: 90 * 24 * time.Hour,
}

var errTooLittle = errors.New("not enough money")

// Open opens a bank with two customers.
func Open(ctx context.Context, path string) (*sqlite.DB, error) {
	bank, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	if err := bank.Migrate(ctx); err != nil {
		return nil, err
	}
	return bank, bank.Setup(ctx,
		`CREATE TABLE accounts (name TEXT PRIMARY KEY, cents INTEGER NOT NULL)`,
		`INSERT INTO accounts VALUES ('ann', 1000), ('ben', 0)`)
}

// Do makes the transfer once per key.
func Do(ctx context.Context, bank *sqlite.DB, key string, o Order) (refrain.Done[Receipt], error) {
	return refrain.Do(ctx, bank, call(key, o), func(ctx context.Context, tx sqlite.Tx) (Receipt, error) { return move(ctx, tx, o) })
}

// In is Do inside a transaction of the caller's; its outcome is provisional
// until the caller commits.
func In(ctx context.Context, bank *sqlite.DB, tx sqlite.Tx, key string, o Order) (refrain.Outcome, error) {
	return bank.ExecuteIn(ctx, tx, call(key, o), func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		receipt, err := move(ctx, tx, o)
		if err != nil {
			return refrain.Result{}, err // also a refusal: here the caller's transaction decides
		}
		body, err := json.Marshal(receipt) // as refrain.Do keeps it, so Do can repeat it
		return refrain.Result{Body: body}, err
	})
}

func call(key string, o Order) refrain.Call {
	return refrain.Call{Contract: Contract, Scope: refrain.Tenant("bank"), Key: key, Input: o}
}

// move is the effect: database work alone, since it may run again.
func move(ctx context.Context, tx sqlite.Tx, o Order) (Receipt, error) {
	var r Receipt
	err := tx.QueryRowContext(ctx, `UPDATE accounts SET cents = cents - ? WHERE name = ? RETURNING cents`, o.Cents, o.From).Scan(&r.Balance)
	if err != nil {
		return r, err
	}
	if r.Balance < 0 {
		return r, refrain.Reject(errTooLittle) // recorded; the UPDATE is undone
	}
	_, err = tx.ExecContext(ctx, `UPDATE accounts SET cents = cents + ? WHERE name = ?`, o.Cents, o.To)
	return r, err
}
