package mysql

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// recallSQL reads a record that is there with what a replay needs beside it: the
// horizon, fences and allows decide only where there is none.
const recallSQL = `SELECT ` + nowSQL + `, ` + pinnedSQL + `, o.identity, ` + columns + `, r.body` +
	` FROM refrain_record r LEFT JOIN refrain_operation o ON o.operation = r.operation WHERE r.hash = ? LIMIT 1`

// beforeRecalled is how many columns stand before the record's.
const beforeRecalled = 3

// load is the lookup of the driver: most who ask before they begin ask for a
// record that is there. Whatever else there is to say, the whole lookup says.
func (db *DB) load(ctx context.Context, id record.Identity) (record.Seen, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, db.opts.Busy) // for both, and for a connection: the pool may be in use
	defer cancel()
	if db.owned && !db.closed.Load() {
		found, err := db.recall(ctx, id)
		now := db.now(found.now)
		if rec := found.Record; err == nil && rec != nil && rec.State.Final() && now.Before(rec.RememberUntil) && (!found.pinned || db.opts.Now != nil) {
			return found.Seen, now, nil
		}
	}
	return db.Load(ctx, id)
}

// recall reads the record of id, by a statement which a connection of ours
// prepares once.
func (db *DB) recall(ctx context.Context, id record.Identity) (found seen, err error) {
	conn, err := db.pool.Conn(ctx)
	if err != nil {
		return seen{}, err
	}
	err = conn.Raw(func(dc any) (err error) {
		found, err = dc.(*guard).recall(ctx, id)
		return err
	})
	return found, errors.Join(err, conn.Close())
}

func (g *guard) recall(ctx context.Context, id record.Identity) (found seen, err error) {
	if g.recalling == nil {
		stmt, err := g.inner.PrepareContext(ctx, recallSQL)
		if err != nil {
			return seen{}, err
		}
		g.recalling = stmt.(innerStmt)
	}
	hash := id.Hash()
	rows, err := g.recalling.QueryContext(ctx, []driver.NamedValue{{Ordinal: 1, Value: hash[:]}})
	if err != nil {
		return seen{}, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values := make([]driver.Value, beforeRecalled+bodyColumn+1)
	if err := rows.Next(values); err != nil {
		return seen{}, err // io.EOF: there is none
	}
	r := make(anyRow, len(values))
	for i, v := range values {
		r[i] = v
	}
	rec, err := decodeAt(r[beforeRecalled:], true)
	if err == nil && rec.Identity == id {
		// What is not copied yet stands in the driver's buffer.
		rec.Result.Body, rec.Result.Digest = bytes.Clone(rec.Result.Body), bytes.Clone(rec.Result.Digest)
		found.Record = &rec
	}
	found.now, found.pinned, found.IdentityVersion = time.UnixMicro(r.integer(0)).UTC(), r.integer(1) != 0, r.text(2)
	return found, err
}
