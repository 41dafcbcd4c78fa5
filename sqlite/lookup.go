package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// columns of a record, in the order scan reads them.
const columns = `r.ref, r.version, r.format, r.state, r.disputed, r.scope, r.operation, r.key, r.actor,
 r.raw, r.deciding, r.rule, r.schema, r.created, r.final, r.replay_until, r.remember_until,
 r.attempt, r.lease, r.status, r.effect, r.digest, r.header`

// lookupSQL reads the record and everything that stands beyond it in one
// statement: one snapshot.
const lookupSQL = `SELECT o.identity, o.horizon, a.hash IS NOT NULL,
 (SELECT max(until) FROM refrain_fence WHERE operation IN ('', ?2) AND scope IN ('', ?3)),
 EXISTS (SELECT 1 FROM refrain_fence WHERE operation IN ('', ?2) AND scope IN ('', ?3) AND ended IS NULL),
 ` + columns + `, r.body
FROM (SELECT 1)
LEFT JOIN refrain_operation o ON o.operation = ?2
LEFT JOIN refrain_allow a ON a.hash = ?1 AND a.scope = ?3 AND a.operation = ?2 AND a.key = ?4
LEFT JOIN refrain_record r ON r.hash = ?1`

// rower is what one lookup needs.
type rower interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// seen is a lookup's answer with the identity version the store knows.
type seen struct {
	record.Seen
	identity sql.NullString // NULL: the operation was never seen here
}

func lookup(ctx context.Context, q rower, id record.Identity, hash [16]byte) (seen, error) {
	return scanSeen(q.QueryRowContext(ctx, lookupSQL, hash[:], id.Operation, id.Scope, []byte(id.Key)), id)
}

func scanSeen(row *sql.Row, id record.Identity) (seen, error) {
	var s seen
	var horizon, fence sql.NullInt64
	var c cells
	err := row.Scan(append([]any{&s.identity, &horizon, &s.Allowed, &fence, &s.FenceOpen}, c.dest(true)...)...)
	if err != nil {
		return s, err
	}
	s.Horizon, s.FenceUntil = fromMicros(horizon), fromMicros(fence)
	if !c.ref.Valid {
		return s, nil
	}
	rec, err := c.record()
	if err != nil {
		return s, err
	}
	if rec.Identity != id {
		return s, fmt.Errorf("%w: another identity under the same hash", record.RecordUnreadable)
	}
	s.Record = &rec
	return s, nil
}

// checkIdentity refuses to act on an operation whose identities are made of
// something else than this binary thinks.
func (s seen) checkIdentity(c *record.Claim) error {
	if s.identity.Valid && s.identity.String != c.IdentityVersion {
		return &refrain.Error{Problem: refrain.ErrContractChanged, Row: "9", RetryAfter: time.Second,
			Err: fmt.Errorf("the store keeps %q by %s, this contract by %s", c.Identity.Operation, s.identity.String, c.IdentityVersion)}
	}
	return nil
}

// cells are the columns of one record as the database gives them; all are NULL
// where there is none.
type cells struct {
	ref, scope, operation, actor, rule, schema, effect sql.NullString
	version, format, state, disputed, attempt, status  sql.NullInt64
	created, final, replayUntil, rememberUntil, lease  sql.NullInt64
	key, raw, deciding, digest, header, body           []byte
}

func (c *cells) dest(body bool) []any {
	d := []any{
		&c.ref, &c.version, &c.format, &c.state, &c.disputed, &c.scope, &c.operation, &c.key, &c.actor,
		&c.raw, &c.deciding, &c.rule, &c.schema, &c.created, &c.final, &c.replayUntil, &c.rememberUntil,
		&c.attempt, &c.lease, &c.status, &c.effect, &c.digest, &c.header,
	}
	if body {
		d = append(d, &c.body)
	}
	return d
}

// record decodes the row. What cannot be decoded is never taken for no record.
func (c *cells) record() (record.Record, error) {
	if c.format.Int64 > record.Format {
		return record.Record{}, fmt.Errorf("%w: format %d", record.ErrNewerFormat, c.format.Int64)
	}
	rec := record.Record{
		Identity:      record.Identity{Scope: c.scope.String, Operation: c.operation.String, Key: string(c.key)},
		Ref:           c.ref.String,
		Version:       c.version.Int64,
		Format:        int(c.format.Int64),
		State:         record.State(c.state.Int64),
		Disputed:      c.disputed.Int64 != 0,
		Actor:         c.actor.String,
		Created:       fromMicros(c.created),
		Final:         fromMicros(c.final),
		ReplayUntil:   fromMicros(c.replayUntil),
		RememberUntil: fromMicros(c.rememberUntil),
		Attempt:       int(c.attempt.Int64),
		Lease:         fromMicros(c.lease),
	}
	rec.Print.Rule, rec.Print.Schema = c.rule.String, c.schema.String
	header, err := record.DecodeHeader(c.header)
	switch {
	case err != nil:
	case copy(rec.Print.Raw[:], c.raw) != 32 || len(c.raw) != 32 || copy(rec.Print.Deciding[:], c.deciding) != 32 || len(c.deciding) != 32:
		err = errors.New("a fingerprint is not 32 bytes")
	case c.state.Int64 < int64(record.Accepted) || c.state.Int64 > int64(record.Rejected):
		err = fmt.Errorf("state %d", c.state.Int64)
	case rec.State.Final() && (rec.Final.IsZero() || rec.ReplayUntil.IsZero() || rec.RememberUntil.IsZero()):
		err = errors.New("a final record without deadlines")
	case !record.ValidRef(rec.Ref):
		err = errors.New("a malformed ref")
	}
	if err != nil {
		return rec, fmt.Errorf("%w: %w", record.RecordUnreadable, err)
	}
	rec.Result = record.Result{
		Status: int(c.status.Int64), Header: header, Body: c.body, Effect: c.effect.String,
		Rejected: rec.State == record.Rejected, Digest: c.digest,
	}
	return rec, nil
}

func fromMicros(us sql.NullInt64) time.Time {
	if !us.Valid {
		return time.Time{}
	}
	return time.UnixMicro(us.Int64).UTC()
}

func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}
