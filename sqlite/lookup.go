package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// columns of a record, in the order decode reads them; the body is last and
// left out by [DB.List].
const columns = `r.ref, r.version, r.format, r.state, r.disputed, r.scope, r.operation, r.key, r.actor,
 r.raw, r.deciding, r.rule, r.schema, r.created, r.final, r.replay_until, r.remember_until,
 r.attempt, r.lease, r.status, r.effect, r.digest, r.header, r.fence, r.evidence`

const bodyColumn = 25

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

// seen is a lookup's answer with the identity version the store knows.
type seen struct {
	record.Seen
	known bool // the store has the operation
}

func lookup(ctx context.Context, q runner, id record.Identity, hash [16]byte) (s seen, err error) {
	err = q.row(ctx, lookupSQL, func(r row) error {
		s.known, s.IdentityVersion = !r.null(0), r.text(0)
		s.Horizon, s.Allowed, s.FenceUntil, s.FenceOpen = instant(r, 1), r.integer(2) != 0, instant(r, 3), r.integer(4) != 0
		const first = 5
		if r.null(first) {
			return nil
		}
		rec, err := decode(r, first, true)
		if err != nil {
			return err
		}
		if rec.Identity != id {
			return fmt.Errorf("%w: another identity under the same hash", record.RecordUnreadable)
		}
		s.Record = &rec
		return nil
	}, hash[:], id.Operation, id.Scope, []byte(id.Key))
	return s, err
}

// decode reads the record whose columns begin at i. What cannot be decoded is
// never taken for no record.
func decode(r row, i int, body bool) (record.Record, error) {
	at := func(column int) int { return i + column }
	if format := r.integer(at(2)); format > record.Format {
		return record.Record{}, fmt.Errorf("%w: format %d", record.ErrNewerFormat, format)
	}
	rec := record.Record{
		Ref:           r.text(at(0)),
		Version:       r.integer(at(1)),
		Format:        int(r.integer(at(2))),
		Disputed:      r.integer(at(4)) != 0,
		Identity:      record.Identity{Scope: r.text(at(5)), Operation: r.text(at(6)), Key: string(r.blob(at(7)))},
		Actor:         r.text(at(8)),
		Created:       instant(r, at(13)),
		Final:         instant(r, at(14)),
		ReplayUntil:   instant(r, at(15)),
		RememberUntil: instant(r, at(16)),
		Attempt:       int(r.integer(at(17))),
		Lease:         instant(r, at(18)),
		Fence:         r.integer(at(23)),
	}
	state, raw, deciding := r.integer(at(3)), r.blob(at(9)), r.blob(at(10))
	rec.State = record.State(state)
	rec.Print.Rule, rec.Print.Schema = r.text(at(11)), r.text(at(12))
	header, err := record.DecodeHeader(r.blob(at(22)))
	switch {
	case err != nil:
	case state < int64(record.Accepted) || state > int64(record.Rejected):
		err = fmt.Errorf("state %d", state)
	case len(raw) != 32 || len(deciding) != 32:
		err = errors.New("a fingerprint is not 32 bytes")
	case rec.State.Final() && (rec.Final.IsZero() || rec.ReplayUntil.IsZero() || rec.RememberUntil.IsZero()):
		err = errors.New("a final record without deadlines")
	case !record.ValidRef(rec.Ref):
		err = errors.New("a malformed ref")
	}
	if err != nil {
		return rec, fmt.Errorf("%w: %w", record.RecordUnreadable, err)
	}
	copy(rec.Print.Raw[:], raw)
	copy(rec.Print.Deciding[:], deciding)
	rec.Result = record.Result{
		Status: int(r.integer(at(19))), Header: header, Effect: r.text(at(20)),
		Rejected: rec.State == record.Rejected, Digest: r.blob(at(21)),
	}
	if rec.Evidence, err = record.DecodeEvidence(r.blob(at(24))); err != nil {
		return rec, fmt.Errorf("%w: evidence: %w", record.RecordUnreadable, err)
	}
	if body {
		rec.Result.Body = r.blob(at(bodyColumn))
	}
	return rec, nil
}

func instant(r row, i int) time.Time {
	if r.null(i) {
		return time.Time{}
	}
	return time.UnixMicro(r.integer(i)).UTC()
}

func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}
