package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// enter makes the savepoint and looks, in one round trip.
func (j *join) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := j.db.opts.soon(ctx)
	defer cancel()
	if err := j.sameDatabase(ctx); err != nil {
		return err
	}
	if j.conn.PgConn().TxStatus() != active {
		return fmt.Errorf("%w: it has failed or ended before", ErrTxUnusable)
	}
	var b pgx.Batch
	b.Queue("SAVEPOINT " + j.db.mark)
	b.Queue(j.db.sql.lookup, lookupArgs(j.c.Identity, j.c.Hash)...)
	br := j.tx.SendBatch(ctx, &b)
	_, err := br.Exec()
	if err != nil { // the savepoint itself
		_ = br.Close()
		return errors.Join(ErrTxUnusable, unheard(ctx, err))
	}
	j.found, err = scanLookup(br.QueryRow(), j.c.Identity)
	if closing := br.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return errors.Join(unheard(ctx, migrated(err)), j.undo())
	}
	return nil
}

// look decides.
func (j *join) look(ctx context.Context) (err error) {
	j.now = j.db.time(j.found.now)
	j.decision, err = decide(j.found, j.c, j.now)
	if errors.Is(err, record.ErrHeld) {
		held := record.Seen{Held: true}
		return record.Refusal(record.Decide(j.c.Policy, held, j.c.Request, j.now), held, j.c, j.now)
	}
	if j.decision.Review { // kept if the caller commits
		err = errors.Join(err, j.db.review(ctx, direct{j.tx}, j.c, j.now), j.leave(ctx, nil))
	}
	return err
}

// leave ends the savepoint after the statements.
func (j *join) leave(ctx context.Context, statements []statement) error {
	var b pgx.Batch
	for _, st := range statements {
		b.Queue(st.sql, st.args...)
	}
	b.Queue("RELEASE SAVEPOINT " + j.db.mark)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), j.c.Policy.CommitWait)
	defer cancel()
	err := j.tx.SendBatch(ctx, &b).Close()
	j.over = err == nil
	return err
}

// undo takes back what was written since the savepoint, and lets go of the
// identity. It does nothing after leave.
func (j *join) undo() error {
	if j.over {
		return nil
	}
	j.over = true
	ctx, cancel := context.WithTimeout(context.Background(), undoTime)
	defer cancel()
	// One text: in a failed transaction nothing else can be prepared.
	if _, err := j.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT "+j.db.mark+"; RELEASE SAVEPOINT "+j.db.mark); err != nil {
		return errors.Join(ErrTxUnusable, err)
	}
	return nil
}

// undoTime bounds the way back; a connection that does not answer is closed then.
const undoTime = 5 * time.Second

// lend gives the caller's transaction to the effect.
func (j *join) lend(ctx context.Context, rec *record.Record, effect pgxEffect) (record.Result, error) {
	bounded, cancel := j.c.Bound(ctx, rec)
	defer cancel()
	t := &turn{conn: j.conn, base: bounded}
	hooks := hooksOf(j.conn)
	if hooks != nil {
		hooks.turn.Store(t)
		defer hooks.turn.Store(nil)
	}
	defer t.end()
	result, err := effect(bounded, &handle{inner: j.tx, t: t})
	poison := t.end()
	if hooks != nil {
		hooks.turn.Store(nil)
	}
	switch status := j.conn.PgConn().TxStatus(); {
	case bounded.Err() != nil && ctx.Err() == nil:
		return result, j.c.Failed(bounded, errors.Join(bounded.Err(), err), true)
	case bounded.Err() == nil && again(poison, err, status):
		return result, errors.Join(poison, err)
	case bounded.Err() == nil && poison == nil && t.met.spoilt(status == aborted, err) && (err != nil || !result.Rejected):
		return result, t.met.failing(err)
	case poison != nil:
		err = errors.Join(poison, err)
	case status == idle:
		err = errors.Join(refrain.ErrOwned, errEnded, err)
	case err == nil:
		err = t.swallowed(status, result.Rejected)
	}
	if err != nil {
		err = errors.Join(err, context.Cause(bounded))   // the caller went away
		return result, j.c.Failed(bounded, err, t.wrote) // the caller's writes have a transaction id already
	}
	return j.c.Keep(result)
}

// sameDatabase refuses a transaction of another database: its tables, of the same
// names, would take the record. Each connection is asked once.
func (j *join) sameDatabase(ctx context.Context) error {
	known := j.conn.PgConn().CustomData()
	if known[databaseKey] == j.db {
		return nil
	}
	if !sameServer(j.conn.Config(), j.db.conns.Config().ConnConfig) {
		// Another name of the same server, perhaps.
		var here, there string
		if err := j.db.read.row(ctx, j.db.sql.text(storeText)).Scan(&there); err != nil {
			return err
		}
		if err := j.tx.QueryRow(ctx, j.db.sql.text(storeText)).Scan(&here); err != nil {
			return errors.Join(ErrOtherDatabase, ErrTxUnusable, err)
		}
		if here != there {
			return ErrOtherDatabase
		}
	}
	known[databaseKey] = j.db
	return nil
}

const (
	databaseKey = "refrain.database"
	storeText   = `SELECT id::text FROM {schema}.store`
)

func sameServer(a, b *pgx.ConnConfig) bool {
	return a.Database == b.Database && a.Host == b.Host && a.Port == b.Port &&
		slices.EqualFunc(a.Fallbacks, b.Fallbacks, func(x, y *pgconn.FallbackConfig) bool { return x.Host == y.Host && x.Port == y.Port })
}
