package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// item is one statement of a flush.
type item struct {
	owner *member // nil: ours
	query pgx.QueuedQuery
	read  func(pgx.Rows) error // what to do with the answer; nil leaves it
}

// errEncoding: making a statement's arguments ready panicked.
var errEncoding = errors.New("postgres: an argument could not be encoded")

// exchange sends items in one round trip and reads the answers. It returns how
// many were answered well and the error that ended that. The answers come
// together: the server sends none before it has done all.
func (p *party) exchange(ctx context.Context, items []item) (answered int, err error) {
	defer func() {
		if recover() != nil { // of a type of the application's, which encodes itself
			_ = p.conn.Conn().PgConn().Conn().Close()
			answered, err = 0, errEncoding
		}
	}()
	b := pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, len(items))}
	for i := range items {
		b.QueuedQueries[i] = &items[i].query
	}
	results := p.conn.SendBatch(ctx, &b)
	for i := range items {
		err = readNext(results, items[i].read)
		if err != nil {
			_ = results.Close()
			return i, err
		}
	}
	return len(items), results.Close()
}

func readNext(results pgx.BatchResults, read func(pgx.Rows) error) error {
	if read == nil {
		_, err := results.Exec()
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := read(rows); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// into reads the first row.
func into(dest ...any) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		if !rows.Next() {
			return errors.Join(pgx.ErrNoRows, rows.Err())
		}
		return rows.Scan(dest...)
	}
}

// members' statements, in the order of the members.
func (p *party) queued(items []item) []item {
	for _, m := range p.members {
		if m.sent {
			continue
		}
		m.got = make([]*batchAnswer, len(m.queued))
		for i, q := range m.queued {
			it := item{owner: m, query: pgx.QueuedQuery{SQL: q.SQL, Arguments: q.Arguments}}
			if q.Fn != nil {
				got := &m.got[i]
				it.read = func(rows pgx.Rows) (err error) {
					*got, err = readAnswer(rows)
					return err
				}
			}
			items = append(items, it)
		}
	}
	return items
}

// limit ends the statement that runs on the server when a flush takes too long,
// but never COMMIT. disarm ends the limit.
func (p *party) limit() (disarm func()) {
	pid, read := p.conn.Conn().PgConn().PID(), p.group.db.read
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	timer := time.AfterFunc(p.group.slowest, func() {
		defer close(done)
		_, _ = read.exec(ctx, cancelText, int64(pid), commitText)
	})
	return func() {
		cancel()
		if !timer.Stop() {
			<-done
			p.spoilt = true // the request may still be on its way
		}
	}
}

const cancelText = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $1::int8 AND state = 'active' AND query <> $2::text`

// flush is a round trip that leaves the transaction standing.
func (p *party) flush(items []item) bool {
	ctx, cancel := context.WithTimeoutCause(context.Background(), max(p.group.db.opts.Busy, 2*p.group.slowest), errSilent)
	defer cancel()
	disarm := p.limit()
	answered, err := p.exchange(ctx, items)
	disarm()
	if err != nil && ctx.Err() != nil { // nothing was committed, and others fare no better
		p.decoder.end()
		for _, m := range p.members {
			m.end(verdict{kind: fateTold, err: unheard(ctx, err)})
		}
		return false
	}
	if err != nil {
		p.fail(items, answered, err)
		return false
	}
	p.decoder.begin(p.conn.Conn().TypeMap())
	for _, m := range p.members {
		m.sent = true
	}
	return true
}
