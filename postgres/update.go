package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// updateTime bounds how often the engine's own work is run again.
const updateTime = 10 * time.Second

// update is [Store.write].
func (db *DB) update(ctx context.Context, work func(ctx context.Context, tx runner) error) error {
	leave, err := db.tasks.enter()
	if err != nil {
		return err
	}
	defer leave()
	until := time.Now().Add(updateTime)
	for attempt, stale := 1, 1; ; {
		err := db.updateOnce(ctx, work)
		switch {
		case wasStale(err) && stale < staleTries && ctx.Err() == nil:
			stale++
			continue
		case !rerun(err) || attempt == maxAttempts || !pause(ctx, until, attempt):
			return err
		}
		attempt++
	}
}

func (db *DB) updateOnce(ctx context.Context, work func(context.Context, runner) error) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	var b pgx.Batch
	b.BeginTx(pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	b.Queue(aroundText)
	br := conn.SendBatch(ctx, &b)
	s := &session{conn: conn, tx: br.Tx(), hooks: hooksOf(conn.Conn())}
	defer s.rollback()
	found, err := begun(br)
	if err != nil {
		if conn.Conn().IsClosed() && ctx.Err() == nil {
			err = errors.Join(errStale, err)
		}
		return err
	}
	if err := work(ctx, direct{s.tx}); err != nil {
		return err
	}
	if !found.standbys {
		return doubtful(lostRace(db.commit(s, found, nil, defaultCommitWait)))
	}
	// What was only read is told as well: it has to be confirmed first.
	return doubtful(lostRace(db.commit(s, found, []statement{{sql: barrierText}}, defaultCommitWait)))
}

// begun reads the answer to BEGIN and aroundText.
func begun(br pgx.BatchResults) (found seen, err error) {
	if _, err = br.Exec(); err == nil {
		found, err = scanAround(br.QueryRow())
	}
	if closing := br.Close(); err == nil {
		err = closing
	}
	return found, err
}
