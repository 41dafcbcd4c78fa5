package postgres

import (
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// seen is a lookup's answer and what it told of the moment it was made.
type seen struct {
	record.Seen
	known  bool // the store has the operation
	locked bool // this transaction holds the identity
	frozen bool // its later statements see no more than this one did

	now        int64  // the server's clock, microseconds since 1970
	xmin       uint64 // every older transaction had ended
	xid        uint64 // of the transaction that wrote the record; 0 without one
	standbys   bool   // synchronous_standby_names is set
	timeout    bool   // statement_timeout is set
	began      string // identifies the transaction within its session
	postmaster string // identifies the server's run
}

// lookupArgs are the arguments of queries.lookup and queries.read.
func lookupArgs(id record.Identity, hash [16]byte) []any {
	return []any{hashText(hash), id.Operation, id.Scope, []byte(id.Key), lockKey(hash)}
}

// lockKey names the identity among advisory locks. It folds the whole hash, since
// the first half of a timed key's is mostly its time.
func lockKey(hash [16]byte) int64 {
	return int64(binary.BigEndian.Uint64(hash[:8]) ^ binary.BigEndian.Uint64(hash[8:]))
}

// hashText is the hash as the text of a uuid.
func hashText(hash [16]byte) string {
	var b [36]byte
	hex.Encode(b[:8], hash[:4])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	hex.Encode(b[9:13], hash[4:6])
	hex.Encode(b[14:18], hash[6:8])
	hex.Encode(b[19:23], hash[8:10])
	hex.Encode(b[24:], hash[10:])
	return string(b[:])
}

// scanLookup reads the row of a lookup of id.
func scanLookup(row scanner, id record.Identity) (s seen, err error) {
	var moment, fence, whole []byte
	var identity *string
	var horizon *int64
	if err := row.Scan(&moment, &identity, &horizon, &s.Allowed, &fence, &whole); err != nil {
		return seen{}, err
	}
	if err := s.moment(moment); err != nil {
		return seen{}, err
	}
	if s.known = identity != nil; s.known {
		s.IdentityVersion = *identity
	}
	s.Horizon = instant(horizon)
	switch {
	case fence == nil:
	case len(fence) == 9:
		s.FenceUntil = time.UnixMicro(int64(binary.BigEndian.Uint64(fence))).UTC()
		s.FenceOpen = fence[8] != 0
	default:
		return seen{}, errMoment
	}
	if whole == nil {
		return s, nil
	}
	_, err = s.record(whole, id)
	return s, err
}

// scanGlance reads the row of queries.glance: the record alone. Its identity
// version is "" where only the operation's row tells it.
func scanGlance(row scanner, id record.Identity) (s seen, err error) {
	var moment, whole []byte
	if err := row.Scan(&moment, &whole); err != nil {
		return seen{}, err
	}
	if err := s.moment(moment); err != nil || whole == nil {
		return s, err
	}
	r, err := s.record(whole, id)
	s.IdentityVersion = string(r[colIdentity])
	return s, err
}

// scanFind reads the row of queries.find.
func scanFind(row scanner) (s seen, err error) {
	var moment, whole []byte
	if err := row.Scan(&moment, &whole); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = record.ErrNotFound
		}
		return seen{}, err
	}
	if err := s.moment(moment); err != nil {
		return seen{}, err
	}
	r, err := split(whole)
	if err == nil {
		s.xid = uint64(r.number(colXID))
		s.Record, err = r.decode(r.identity())
	}
	return s, err
}

// record decodes the row that was found under the hash of id.
func (s *seen) record(whole []byte, id record.Identity) (r fields, err error) {
	if r, err = split(whole); err != nil {
		return r, err
	}
	rec, err := r.decode(id)
	if err != nil {
		return r, err
	}
	if !r.is(id) {
		return r, fmt.Errorf("%w: another identity under the same hash", record.RecordUnreadable)
	}
	s.Record, s.xid = rec, uint64(r.number(colXID))
	return r, nil
}

func instant(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return time.UnixMicro(*micros).UTC()
}

func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}
