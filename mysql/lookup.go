package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// runner is what runs the engine's own statements: a pool, a connection or a
// transaction.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// scanner is a result row: *sql.Row or *sql.Rows.
type scanner interface {
	Scan(dest ...any) error
}

// columns of a record r, in the order decode reads them; the body is last and
// left out by reads that do not want it.
const columns = "r.ref, r.version, r.format, r.state, r.disputed, r.scope, r.operation, r.`key`, r.actor," +
	" r.raw, r.deciding, r.rule, r.`schema`, r.created, r.final, r.replay_until, r.remember_until," +
	" r.attempt, r.lease, r.status, r.effect, r.digest, r.header, r.fence, r.evidence"

const bodyColumn = 25

// nowSQL is the server's time in microseconds since 1970 UTC, whatever the
// session's time zone.
const nowSQL = `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`

// pinnedSQL tells a session whose clock was set to a time and stands. A routine
// may have left it so; records would seem to be of another age.
const pinnedSQL = `ABS(TIMESTAMPDIFF(SECOND, NOW(6), SYSDATE(6))) > 5`

// looseSQL tells a session whose reads outside a transaction are not worth
// having: they see what is not committed, or leave a transaction open. The
// variable's name is the vendor's.
const looseSQL = `@@SESSION.autocommit = 0 OR /*!80000 @@SESSION.transaction_isolation */ /*M! @@SESSION.tx_isolation */ = 'READ-UNCOMMITTED'`

// lookupSQL reads the record and everything that stands beyond it in one
// statement: one snapshot.
const lookupSQL = `SELECT ` + nowSQL + `, @@max_allowed_packet, VERSION(), o.identity, o.horizon, a.hash IS NOT NULL,
 (SELECT max(until) FROM refrain_fence WHERE operation IN (X'', ?) AND scope IN (X'', ?)),
 EXISTS (SELECT 1 FROM refrain_fence WHERE operation IN (X'', ?) AND scope IN (X'', ?) AND ended IS NULL),
 ` + pinnedSQL + `, ` + looseSQL + `,
 ` + columns + `, r.body
FROM (SELECT 1 AS one) AS this
LEFT JOIN refrain_operation o ON o.operation = ?
LEFT JOIN refrain_allow a ON a.hash = ? AND a.scope = ? AND a.operation = ? AND a.` + "`key`" + ` = ?
LEFT JOIN refrain_record r ON r.hash = ? LIMIT 1`

// beforeRecord is how many columns stand before the record's.
const beforeRecord = 10

func lookupArgs(id record.Identity, hash [16]byte) []any {
	operation, scope, key, h := []byte(id.Operation), []byte(id.Scope), []byte(id.Key), hash[:]
	return []any{operation, scope, operation, scope, operation, h, scope, operation, key, h}
}

// seen is a lookup's answer with what else the engine has to know.
type seen struct {
	record.Seen
	known  bool      // the store has the operation
	now    time.Time // the server's
	packet int64     // the longest row or statement the server takes
	maria  bool      // the server is a MariaDB
	pinned bool      // the session's clock stands
	loose  bool      // outside a transaction it was no sound look
}

func lookup(ctx context.Context, q runner, id record.Identity, hash [16]byte) (seen, error) {
	rows, err := q.QueryContext(ctx, lookupSQL, lookupArgs(id, hash)...)
	if err != nil {
		return seen{}, err
	}
	defer rows.Close()
	s, err := readLookup(rows, id)
	return s, errors.Join(err, rows.Close())
}

// readLookup reads the only row of the lookup's result.
func readLookup(rows *sql.Rows, id record.Identity) (s seen, err error) {
	if !rows.Next() {
		return s, errors.Join(errors.New("mysql: the lookup has no row"), rows.Err())
	}
	r, err := scanAny(rows, beforeRecord+bodyColumn+1)
	if err != nil {
		return s, err
	}
	s.now, s.packet = time.UnixMicro(r.integer(0)).UTC(), r.integer(1)
	s.maria = strings.Contains(r.text(2), "MariaDB")
	s.known, s.IdentityVersion, s.Horizon, s.Allowed = !r.null(3), r.text(3), r.instant(4), r.integer(5) != 0
	s.FenceUntil, s.FenceOpen = r.instant(6), r.integer(7) != 0
	s.pinned, s.loose = r.integer(8) != 0, r.integer(9) != 0
	if r.null(beforeRecord) {
		return s, nil
	}
	rec, err := decodeAt(r[beforeRecord:], true)
	if err != nil {
		return s, err
	}
	if rec.Identity != id {
		return s, fmt.Errorf("%w: another identity under the same hash", record.RecordUnreadable)
	}
	s.Record = &rec
	return s, nil
}

// decode reads a record from a row that has columns and, if body, r.body.
func decode(s scanner, body bool) (record.Record, error) {
	n := bodyColumn
	if body {
		n++
	}
	r, err := scanAny(s, n)
	if err != nil {
		return record.Record{}, err
	}
	return decodeAt(r, body)
}

// decodeAt decodes a row of columns. What cannot be decoded is never taken for
// no record.
func decodeAt(r anyRow, body bool) (record.Record, error) {
	if format := r.integer(2); format > record.Format {
		return record.Record{}, fmt.Errorf("%w: format %d", record.ErrNewerFormat, format)
	}
	ref, err := decodeRef(r.blob(0))
	rec := record.Record{
		Ref:           ref,
		Version:       r.integer(1),
		Format:        int(r.integer(2)),
		Disputed:      r.integer(4) != 0,
		Identity:      record.Identity{Scope: r.text(5), Operation: r.text(6), Key: r.text(7)},
		Actor:         r.text(8),
		Created:       r.instant(13),
		Final:         r.instant(14),
		ReplayUntil:   r.instant(15),
		RememberUntil: r.instant(16),
		Attempt:       int(r.integer(17)),
		Lease:         r.instant(18),
		Fence:         r.integer(23),
	}
	state, raw, deciding := r.integer(3), r.blob(9), r.blob(10)
	rec.State = record.State(state)
	rec.Print.Rule, rec.Print.Schema = r.text(11), r.text(12)
	header, headerErr := record.DecodeHeader(r.blob(22))
	evidence, evidenceErr := record.DecodeEvidence(r.blob(24))
	switch err = errors.Join(err, headerErr, evidenceErr); {
	case err != nil:
	case state < int64(record.Accepted) || state > int64(record.Rejected):
		err = fmt.Errorf("state %d", state)
	case len(raw) != 32 || len(deciding) != 32:
		err = errors.New("a fingerprint is not 32 bytes")
	case rec.State.Final() && (rec.Final.IsZero() || rec.ReplayUntil.IsZero() || rec.RememberUntil.IsZero()):
		err = errors.New("a final record without deadlines")
	}
	if err != nil {
		return rec, fmt.Errorf("%w: %w", record.RecordUnreadable, err)
	}
	copy(rec.Print.Raw[:], raw)
	copy(rec.Print.Deciding[:], deciding)
	rec.Evidence = evidence
	rec.Result = record.Result{
		Status: int(r.integer(19)), Header: header, Effect: r.text(20),
		Rejected: rec.State == record.Rejected, Digest: r.blob(21),
	}
	if body {
		rec.Result.Body = r.blob(bodyColumn)
	}
	return rec, nil
}
