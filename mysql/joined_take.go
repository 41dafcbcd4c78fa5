package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// taken is what there is before the effect runs.
type taken struct {
	found    seen
	rec      *record.Record // the claim's, not final yet; without one, what answers
	row      int64          // of the claim; 0: there is nothing to execute
	now      time.Time
	reviewed bool // a late retry was noted
}

// take decides, and writes the claim where the effect is to run.
func (j *joined) take(ctx context.Context) (t taken, err error) {
	c := j.claim
	if t.found, err = j.look(ctx); err != nil {
		return t, err
	}
	t.now = j.db.now(t.found.now)
	decision, err := decide(t.found, c, t.now)
	if decision.Review || err == nil && decision.Action == record.Execute {
		if gone := j.enter(ctx); gone != nil {
			return t, gone
		}
	}
	if decision.Review {
		t.reviewed = true // kept if the caller commits
		if noted := review(ctx, hasty{j.q, j.maria}, c, t.now); !isLocked(noted) {
			err = errors.Join(err, noted) // whoever has it is noting the same
		}
	}
	if errors.Is(err, record.ErrHeld) {
		err = record.Refusal(decision, t.found.Seen, c, t.now)
	}
	if err != nil || decision.Action != record.Execute {
		t.rec = t.found.Record
		return t, err
	}
	t.rec = c.Begin(t.now)
	if t.row, err = j.claimFirst(ctx, t.rec, t.found, decision); err != nil {
		t.row = 0
		t.rec, err = j.lost(ctx, t.found, t.now, err)
	}
	return t, err
}

// enter sets the savepoint before the claim. Outside of a transaction, before
// one or after the server or a change of the schema has ended it, a savepoint is
// gone as soon as it is set, and all that follows would commit by itself.
func (j *joined) enter(ctx context.Context) error {
	if err := j.exec(ctx, "SAVEPOINT "+j.start()); err != nil {
		return err
	}
	err := j.exec(ctx, "ROLLBACK TO SAVEPOINT "+j.start())
	j.entered = err == nil
	if _, bare := j.tx.(*sql.Conn); bare && errors.Is(err, errGone) {
		return errNoTransaction // run again, it would be the same
	}
	return err
}

// start is the savepoint before the claim.
func (j *joined) start() string { return j.db.marker + "_in" }

func (j *joined) exec(ctx context.Context, text string) error {
	_, err := j.q.ExecContext(ctx, text)
	return conditional(err)
}

// claimFirst writes the record, not final yet, without waiting for anybody, and
// returns its row.
func (j *joined) claimFirst(ctx context.Context, rec *record.Record, found seen, decision record.Decision) (row int64, err error) {
	c := j.claim
	at := hasty{j.q, j.maria}
	if !found.known {
		if err := learn(ctx, at, c); isLocked(err) {
			return 0, fmt.Errorf("%w: %w", errOperationHeld, err)
		} else if err != nil {
			return 0, err
		}
		if err := j.beyond(ctx, &found); err != nil {
			return 0, err
		}
		if !found.Horizon.IsZero() {
			return 0, fmt.Errorf("%w: the operation is older than this transaction's view", errRace)
		}
	}
	if decision.Replaces {
		if err := remove(ctx, at, found.Record, c.Hash); err != nil {
			return 0, faster(err)
		}
	}
	if decision.SpendsAllow {
		if err := spend(ctx, at, c.Identity, c.Hash); err != nil {
			return 0, faster(err)
		}
	}
	args, err := insertArgs(rec, c.Hash, c.IdentityVersion)
	if err != nil {
		return 0, err
	}
	res, err := at.ExecContext(ctx, insertSQL, args...)
	if err != nil {
		return 0, conditional(err)
	}
	return res.LastInsertId()
}
