package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// ExecuteIn joins the caller's transaction, at any isolation level: the effect
// and its record commit with it or roll back with it. tx must be in one: where it
// has ended already, unnoticed, nothing is written and it is
// [refrain.ErrRetryTransaction]. One of another database is [ErrOtherDatabase]; the
// engine's own is asked once, when its pool has a connection to spare. The outcome
// is provisional until the caller commits and must not be shown before.
//
// A held identity is [refrain.ErrInProgress] at once. But MySQL has no patience
// below innodb_lock_wait_timeout's second: there a claim that meets another one
// that has joined, and is not committed, waits that long. At SERIALIZABLE, where
// reads lock the gaps they find, a neighbour's identity can look like the same one:
// in progress, to be asked again. A transaction that lost a race is
// [refrain.ErrRetryTransaction]: roll it back and run it again; the server may have
// ended it, so do nothing else with it.
//
// The effect must return the errors of its statements: in prepared ones and in
// rows a bare *sql.Tx cannot be watched.
func (db *DB) ExecuteIn(ctx context.Context, tx Tx, call refrain.Call, effect func(ctx context.Context, tx Tx) (refrain.Result, error)) (refrain.Outcome, error) {
	return call.Join(ctx, db.opts.Observer, func(ctx context.Context, c *record.Claim) (*record.Record, bool, error) {
		j := &joined{db: db, tx: tx, q: inlined{tx}, claim: c}
		rec, fresh, err := j.run(ctx, effect)
		if retryable(err) || errors.Is(err, errGone) || errors.Is(err, errMoved) {
			err = fmt.Errorf("%w: %w", refrain.ErrRetryTransaction, err)
		}
		return rec, fresh, migrated(err)
	})
}

// errNoTransaction: what ExecuteIn was given is no transaction.
var errNoTransaction = errors.New("mysql: ExecuteIn needs a transaction that has begun, such as a *sql.Tx; nothing was written")

// joined is one call inside a transaction of the caller's. The claim is written
// first: by it others who join learn of this one, although nothing is committed.
type joined struct {
	db    *DB
	tx    Tx
	q     runner // in it, for the engine's own statements
	claim *record.Claim

	maria    bool
	held     bool  // an Execute has the identity under way
	patience int64 // how many seconds the session waits for a lock
	entered  bool  // the savepoint before the claim is set
}

func (j *joined) run(ctx context.Context, effect func(context.Context, Tx) (record.Result, error)) (rec *record.Record, fresh bool, err error) {
	c := j.claim
	if _, pool := j.tx.(*sql.DB); pool {
		return nil, false, errNoTransaction
	}
	if err := j.meet(ctx); err != nil {
		return nil, false, err
	}
	settled := false
	defer func() {
		if j.entered && !settled {
			err = j.takeBack(ctx, err) // also when the effect panicked or was cancelled
		}
	}()
	var t taken
	err = j.hurried(ctx, func() (err error) {
		t, err = j.take(ctx)
		return err
	})
	if err != nil || t.row == 0 {
		settled = t.reviewed
		return t.rec, false, err
	}
	rec = t.rec
	if err := j.exec(ctx, "SAVEPOINT "+j.db.marker); err != nil {
		return nil, false, err
	}
	result, err := j.effect(ctx, rec, effect, t.found.packet)
	if err != nil {
		return nil, false, err
	}
	if result.Rejected {
		if err := j.exec(ctx, "ROLLBACK TO SAVEPOINT "+j.db.marker); err != nil {
			return nil, false, err
		}
	}
	// A transaction that ended behind our back has no savepoint, and the record
	// would commit alone.
	if err := j.exec(ctx, "RELEASE SAVEPOINT "+j.db.marker); err != nil {
		return nil, false, err
	}
	c.Settle(rec, result, t.now)
	if err := awaited(ctx, j.q, rec); err != nil {
		return nil, false, err
	}
	if err := settle(ctx, j.q, rec, t.row); err != nil {
		return nil, false, err
	}
	if err := j.exec(ctx, "RELEASE SAVEPOINT "+j.start()); err != nil {
		return nil, false, err
	}
	settled = true
	return rec, true, nil
}
