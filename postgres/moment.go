package postgres

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
)

// momentText is what every read of a record tells of the moment it was made, in
// one value of momentSize bytes: three times, the xmin of its snapshot, and flags.
// The transaction's beginning and the server's are compared, never computed with.
// Whether the statement took a lock, and ")", follow.
const momentText = `timestamptz_send(clock_timestamp()) || timestamptz_send(transaction_timestamp()) || timestamptz_send(pg_postmaster_start_time())
 || xid8send(pg_snapshot_xmin(pg_current_snapshot()))
 || boolsend(current_setting('synchronous_standby_names') <> '') || boolsend(current_setting('statement_timeout') <> '0')
 || boolsend(current_setting('transaction_isolation') <> 'read committed') || boolsend(`

const momentSize = 4*8 + 4

// began identifies the transaction within its session.
const began = `encode(timestamptz_send(transaction_timestamp()), 'hex')`

// epoch is the beginning of PostgreSQL's time, 2000-01-01, in microseconds since
// 1970. Its binary form counts microseconds from there.
const epoch = 946684800 * 1_000_000

var errMoment = errors.New("postgres: the server's moment is malformed")

// moment reads the value of momentText into s.
func (s *seen) moment(b []byte) error {
	if len(b) != momentSize {
		return errMoment
	}
	s.now = int64(binary.BigEndian.Uint64(b)) + epoch
	s.began = hex.EncodeToString(b[8:16])
	s.postmaster = string(b[16:24])
	s.xmin = binary.BigEndian.Uint64(b[24:])
	s.standbys, s.timeout, s.frozen, s.locked = b[32] != 0, b[33] != 0, b[34] != 0, b[35] != 0
	return nil
}

// around is the moment of a statement that takes no lock.
const around = momentText + `false)`

// momentOf is a moment as a destination of Scan.
type momentOf struct{ s *seen }

func (m momentOf) Scan(value any) error {
	b, _ := value.([]byte)
	return m.s.moment(b)
}

// scanAround reads the row of aroundText.
func scanAround(row scanner) (s seen, err error) {
	err = row.Scan(momentOf{&s})
	return s, err
}
