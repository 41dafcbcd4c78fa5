package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Pauses between two attempts at an identity that somebody else works on.
const (
	changeFirst = 2 * time.Millisecond
	changeMost  = 100 * time.Millisecond
)

// Change implements [record.Store]. Nobody else works on the identity meanwhile:
// it takes the lock an execution takes. It waits for that lock without a
// connection, no longer than Options.Busy; then it is row 9.
func (db *DB) Change(ctx context.Context, id record.Identity, decide func(record.Seen, time.Time) (record.Edit, error)) error {
	until := time.Now().Add(db.opts.Busy)
	var met error // why it was not done yet
	for attempt := 0; ; attempt++ {
		refused, err := db.change(ctx, until, id, decide)
		switch {
		case refused != nil:
			return refused
		case err == nil:
			return nil
		case again(err):
			met = err
		case errors.Is(err, context.DeadlineExceeded) && !time.Now().Before(until):
			return record.Unavailable(errors.Join(met, err))
		default:
			return migrated(err)
		}
		pause := min(record.Backoff(changeFirst, changeMost, attempt), time.Until(until))
		if pause <= 0 || !sleep(ctx, pause) {
			return record.Unavailable(errors.Join(met, ctx.Err()))
		}
	}
}

// again reports a change that met somebody else and is to be made anew, with a
// new look.
func again(err error) bool {
	return retryable(err) || errors.Is(err, record.ErrHeld) || errors.Is(err, record.ErrSwapped) || number(err) == errNullColumn
}

// change is one attempt; refused is the error of decide.
func (db *DB) change(ctx context.Context, until time.Time, id record.Identity, decide func(record.Seen, time.Time) (record.Edit, error)) (refused, err error) {
	if db.late.full() {
		return nil, errLate
	}
	conn, err := db.connect(ctx, db.opts.Busy)
	if err != nil {
		return nil, err
	}
	hash := id.Hash()
	taken, committing := false, false
	leave := func(error) { db.unlock(conn, hash, taken) }
	defer func() {
		if !committing {
			leave(nil)
		}
	}()
	// Cut short, a statement costs the connection, but nothing is committed yet.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), until)
	defer cancel()
	if taken, err = db.lock(ctx, conn, hash); err != nil {
		return nil, err
	}
	tx, err := db.transact(ctx, conn, beginSQL)
	defer func() {
		if !committing {
			tx.rollback()
		}
	}()
	if err != nil {
		return nil, err
	}
	if refused, err = db.edit(ctx, tx.q, id, hash, decide); refused != nil || err != nil {
		return refused, err
	}
	committing = true
	err = db.late.commit(refrain.DefaultCommitWait, tx.commit, func(err error) {
		if err != nil {
			tx.rollback()
		}
		leave(err)
	})
	if err != nil && !retryable(err) {
		err = unsure(err)
	}
	return nil, err
}

// edit looks, asks and writes. Two rows are locked before the look, which so
// sees what stays: the operation's, against a rekey or a reaper, and the
// record's, against those that do without the lock of the identity.
func (db *DB) edit(ctx context.Context, tx runner, id record.Identity, hash [16]byte, decide func(record.Seen, time.Time) (record.Edit, error)) (refused, err error) {
	for _, lock := range [...]struct {
		query string
		arg   []byte
	}{
		{`SELECT 1 FROM refrain_operation WHERE operation = ? LIMIT 1 LOCK IN SHARE MODE`, []byte(id.Operation)},
		{`SELECT 1 FROM refrain_record WHERE hash = ? LIMIT 1 FOR UPDATE`, hash[:]},
	} {
		var one int
		if err := tx.QueryRowContext(ctx, lock.query, lock.arg).Scan(&one); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
	}
	found, err := lookup(ctx, tx, id, hash)
	if err != nil {
		return nil, err
	}
	now := db.now(found.now)
	edit, refused := decide(found.Seen, now)
	if refused != nil {
		return refused, nil
	}
	return nil, apply(ctx, tx, id, hash, found, edit, now)
}

func apply(ctx context.Context, tx runner, id record.Identity, hash [16]byte, found seen, edit record.Edit, now time.Time) error {
	identity := "" // the record's statement demands nothing: the operation's row is locked
	if edit.Register != nil && !found.known {
		if err := learn(ctx, tx, edit.Register); err != nil {
			return err
		}
		identity = edit.Register.IdentityVersion // or another process was faster, with other dimensions
	}
	if (edit.Put != nil || edit.Remove) && found.Record != nil {
		if err := remove(ctx, tx, found.Record, hash); err != nil {
			return err
		}
	}
	if rec := edit.Put; rec != nil {
		rec.Version, rec.Format = 1, record.Format
		if found.Record != nil && found.Record.Ref == rec.Ref {
			rec.Version = found.Record.Version + 1
		}
		if err := insert(ctx, tx, rec, hash, identity); err != nil {
			return err
		}
	}
	if edit.Review != nil {
		if err := review(ctx, tx, edit.Review, now); err != nil {
			return err
		}
	}
	if edit.Reviewed {
		if _, err := tx.ExecContext(ctx, `DELETE FROM refrain_review WHERE hash = ?`, hash[:]); err != nil {
			return err
		}
	}
	if edit.SpendAllow {
		if err := spend(ctx, tx, id, hash); err != nil {
			return err
		}
	}
	if edit.GrantAllow != "" {
		_, err := tx.ExecContext(ctx, "INSERT INTO refrain_allow (hash, scope, operation, `key`, reason, `by`, at) VALUES (?, ?, ?, ?, ?, 'refrain', ?)"+
			" ON DUPLICATE KEY UPDATE hash = VALUES(hash)",
			hash[:], []byte(id.Scope), []byte(id.Operation), []byte(id.Key), []byte(edit.GrantAllow), now.UnixMicro())
		if err != nil {
			return err
		}
	}
	if edit.By == "" {
		return nil
	}
	return audit(ctx, tx, Audit{At: now, Ref: edit.Subject(found.Seen),
		By: edit.By, Action: edit.Action, Reason: edit.Reason, Detail: edit.Detail})
}

// lock takes the lock of an identity for conn, or is [record.ErrHeld]. taken is
// false where the server has no such locks: the unique key decides alone.
func (db *DB) lock(ctx context.Context, conn *sql.Conn, hash [16]byte) (taken bool, err error) {
	if db.noLock.Load() {
		return false, nil
	}
	held, err := getLock(ctx, inlined{conn}, hash)
	if noSuchLock(err) {
		db.noLock.Store(true)
		return false, nil
	}
	if err == nil && held {
		err = record.ErrHeld
	}
	return err == nil, err
}

// unlock gives the connection back without the lock, or gives it up.
func (db *DB) unlock(conn *sql.Conn, hash [16]byte, taken bool) {
	if taken {
		ctx, cancel := context.WithTimeout(context.Background(), db.opts.Busy)
		defer cancel()
		var mine sql.NullInt64
		if err := (inlined{conn}).QueryRowContext(ctx, dropLock, hash[:]).Scan(&mine); err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
	}
	_ = conn.Close()
}
