package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// dueSQL finds what can be taken, longest due first, each with the time at which
// the head of its partition is due. What a newer version wrote is left for it.
const dueSQL = `SELECT ` + operationColumns + `,
 (SELECT h.due FROM refrain_external h WHERE h.provider = e.provider AND h.partition = e.partition AND h.partition <> ''
  AND h.seq < e.seq AND h.due IS NOT NULL AND h.final IS NULL ORDER BY h.seq LIMIT 1)
FROM refrain_external e WHERE e.provider = ?1 AND e.due <= ?2 AND e.format <= ?3 ORDER BY e.due, e.seq LIMIT ?4`

// Take implements [operation.Store]. Where nothing is due it does not wait for
// the writer.
func (s operations) Take(ctx context.Context, provider string, limit int, decide func(operation.Seen) operation.Edit) ([]operation.Operation, time.Time, error) {
	if record.Nested(ctx) {
		return nil, time.Time{}, record.ErrNested
	}
	now := s.db.opts.Now()
	some, err := someDue(ctx, s.db.lookups, provider, now)
	if err != nil || !some {
		return nil, now, migrated(err)
	}
	var written []operation.Operation
	var unread []error
	err = s.db.write(ctx, false, func(_ context.Context, c *session) error {
		now = s.db.opts.Now()
		written = nil
		e := editing{q: c.run, now: now}
		offered, err := e.due(c.conn, provider, limit)
		if err != nil {
			return err
		}
		for _, seen := range offered {
			edit := decide(seen)
			if err := e.write(seen, edit); err != nil {
				return err
			}
			if edit.Put != nil {
				written = append(written, *edit.Put)
			}
		}
		if unread, err = e.putAside(); err != nil {
			return err
		}
		if err := e.release(); err != nil {
			return err
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return written, now, errors.Join(unread...)
}

const someDueSQL = `SELECT EXISTS (SELECT 1 FROM refrain_external WHERE provider = ? AND due <= ?)`

func someDue(ctx context.Context, q runner, provider string, now time.Time) (some bool, err error) {
	err = q.row(ctx, someDueSQL, func(r row) error {
		some = r.integer(0) != 0
		return nil
	}, provider, now.UnixMicro())
	return some, err
}

func (e *editing) due(conn *sql.Conn, provider string, limit int) ([]operation.Seen, error) {
	all, err := e.dueOperations(conn, provider, limit)
	if err != nil {
		return nil, err
	}
	offered := all[:0]
	for _, seen := range all {
		switch err := e.waiting(&seen); {
		case errors.Is(err, record.ErrNewerFormat): // as above
		case errors.Is(err, record.RecordUnreadable):
			e.aside = append(e.aside, unreadable{seen.Operation, err})
		case err != nil:
			return nil, err
		default:
			offered = append(offered, seen)
		}
	}
	return offered, nil
}

func (e *editing) dueOperations(conn *sql.Conn, provider string, limit int) ([]operation.Seen, error) {
	rows, err := conn.QueryContext(context.Background(), dueSQL, provider, e.now.UnixMicro(), operation.Format, max(limit, 0))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []operation.Seen
	for rows.Next() {
		r, err := scanAny(rows)
		if err != nil {
			return nil, err
		}
		o, err := decodeOperation(r)
		if err != nil { // a newer format is not asked for
			e.aside = append(e.aside, unreadable{o, err})
			continue
		}
		all = append(all, operation.Seen{Operation: o, Behind: instant(r, operationEnd), Now: e.now})
	}
	return all, rows.Err()
}

// unreadable is an operation that cannot be decided about, as far as it was read.
type unreadable struct {
	operation.Operation
	err error
}

// putAside moves what cannot be read out of the way, and says what that is.
func (e *editing) putAside() (unread []error, err error) {
	for _, o := range e.aside {
		err := one(e.q.exec(context.Background(), `UPDATE refrain_external SET due = ? WHERE seq = ?`, e.now.Add(operation.Aside).UnixMicro(), o.Seq))
		if err != nil {
			return nil, err
		}
		unread = append(unread, fmt.Errorf("sqlite: operation %s: %w", o.Ref, o.err))
	}
	return unread, nil
}
