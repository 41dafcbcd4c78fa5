package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Columns of a record in the order of the table. They are read in one value,
// PostgreSQL's binary form of a row, which is decoded here for every driver.
// Columns that a newer schema adds follow them.
const (
	colHash = iota
	colXID
	colVersion
	colCreated
	colFinal
	colReplayUntil
	colRememberUntil
	colFence
	colLease
	colAttempt
	colStatus
	colFormat
	colState
	colDisputed
	colRef
	colScope
	colOperation
	colKey
	colActor
	colRaw
	colDeciding
	colRule
	colSchema
	colIdentity
	colEffect
	colDigest
	colEvidence
	colHeader
	colBody
	numColumns
)

// columnNames are their names. [Store.Doctor] compares them with the table.
const columnNames = "hash, xid, version, created, final, replay_until, remember_until, fence, lease, attempt, status, format, state, disputed, " +
	"ref, scope, operation, key, actor, raw, deciding, rule, schema, identity, effect, digest, evidence, header, body"

const wholeText = `record_send(r)`

// bodilessText is the same row for lists.
var bodilessText = `record_send(ROW(r.` + strings.ReplaceAll(strings.TrimSuffix(columnNames, ", body"), ", ", ", r.") + `, NULL::bytea))`

// fields are the columns of a row, parts of the value they were read in; nil is
// NULL.
type fields [numColumns][]byte

var errRow = fmt.Errorf("%w: the row is malformed", record.RecordUnreadable)

// split reads the binary form of a row: the number of its columns, and of each
// the number of its type, its length, -1 for NULL, and its bytes.
func split(row []byte) (r fields, err error) {
	if len(row) < 4 || binary.BigEndian.Uint32(row) < numColumns {
		return r, errRow
	}
	row = row[4:]
	for i := range r {
		if len(row) < 8 {
			return r, errRow
		}
		size := int(int32(binary.BigEndian.Uint32(row[4:])))
		row = row[8:]
		if size < 0 {
			continue
		}
		if size > len(row) {
			return r, errRow
		}
		r[i], row = row[:size:size], row[size:]
	}
	return r, nil
}

// number is an integer of any width; 0 for NULL.
func (r *fields) number(col int) int64 {
	switch b := r[col]; len(b) {
	case 2:
		return int64(int16(binary.BigEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(b)))
	case 8:
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// instant is a time; NULL is the zero one.
func (r *fields) instant(col int) time.Time {
	if r[col] == nil {
		return time.Time{}
	}
	return time.UnixMicro(r.number(col)).UTC()
}

// is compares the row's components with an identity.
func (r *fields) is(id record.Identity) bool {
	return string(r[colScope]) == id.Scope && string(r[colOperation]) == id.Operation && string(r[colKey]) == id.Key
}

func (r *fields) identity() record.Identity {
	return record.Identity{Scope: string(r[colScope]), Operation: string(r[colOperation]), Key: string(r[colKey])}
}

// decode makes the record of a row that is of id. What cannot be decoded is never
// taken for no record. The record shares the row's bytes.
func (r *fields) decode(id record.Identity) (*record.Record, error) {
	if format := r.number(colFormat); format > record.Format {
		return nil, fmt.Errorf("%w: format %d", record.ErrNewerFormat, format)
	}
	rec := &record.Record{
		Ref:           unpackRef(r[colRef]),
		Version:       r.number(colVersion),
		Format:        int(r.number(colFormat)),
		State:         record.State(r.number(colState)),
		Disputed:      len(r[colDisputed]) == 1 && r[colDisputed][0] != 0,
		Identity:      id,
		Actor:         string(r[colActor]),
		Created:       r.instant(colCreated),
		Final:         r.instant(colFinal),
		ReplayUntil:   r.instant(colReplayUntil),
		RememberUntil: r.instant(colRememberUntil),
		Attempt:       int(r.number(colAttempt)),
		Lease:         r.instant(colLease),
		Fence:         r.number(colFence),
	}
	rec.Print.Rule, rec.Print.Schema = string(r[colRule]), string(r[colSchema])
	header, err := record.DecodeHeader(r[colHeader])
	switch state := r.number(colState); {
	case err != nil:
	case state < int64(record.Accepted) || state > int64(record.Rejected):
		err = fmt.Errorf("state %d", state)
	case len(r[colRaw]) != 32 || len(r[colDeciding]) != 32:
		err = errors.New("a fingerprint is not 32 bytes")
	case rec.State.Final() && (rec.Final.IsZero() || rec.ReplayUntil.IsZero() || rec.RememberUntil.IsZero()):
		err = errors.New("a final record without deadlines")
	case len(r[colRef]) != refSize:
		err = errors.New("a malformed ref")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", record.RecordUnreadable, err)
	}
	copy(rec.Print.Raw[:], r[colRaw])
	copy(rec.Print.Deciding[:], r[colDeciding])
	rec.Result = record.Result{
		Status: int(r.number(colStatus)), Header: header, Body: r[colBody], Effect: string(r[colEffect]),
		Rejected: rec.State == record.Rejected, Digest: r[colDigest],
	}
	if rec.Evidence, err = record.DecodeEvidence(r[colEvidence]); err != nil {
		return nil, fmt.Errorf("%w: evidence: %w", record.RecordUnreadable, err)
	}
	return rec, nil
}
