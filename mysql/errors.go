package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Errors of the server by number.
// https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
const (
	errNullColumn    = 1048 // a condition of the record's statement did not hold
	errNoDatabase    = 1049
	errDuplicate     = 1062
	errNoTable       = 1146
	errInTransaction = 1568 // its characteristics cannot be changed any more
	errLockWait      = 1205
	errDeadlock      = 1213
	errNoSavepoint   = 1305 // also: no such function
	errNoWait        = 3572
	errSnapshotMoved = 1020 // MariaDB's innodb_snapshot_isolation: the row changed since the snapshot
)

// uniqueRecord is the key that decides: one record per identity.
const uniqueRecord = "refrain_record_hash"

var (
	// errGone: the server has ended the transaction on its own, or the effect did
	// by a way nobody saw.
	errGone = errors.New("mysql: the transaction was ended under way")
	// errClosed: the engine is closed.
	errClosed = errors.New("mysql: the engine is closed")
	// errBusy: no connection became free in time.
	errBusy = fmt.Errorf("mysql: no connection in time: %w", record.ErrNotBegun)
	// errLate: too many COMMITs have no answer.
	errLate = fmt.Errorf("mysql: too many commits without an answer: %w", record.ErrNotBegun)
	// errRace: another transaction was faster at the same identity.
	errRace = errors.New("mysql: another transaction was first")
	// errOperationHeld: a rekey, a reaper or a registration has the operation's row.
	errOperationHeld = errors.New("mysql: another transaction holds the operation's row")
	// errMoved: the operation's row is not what the lookup saw.
	errMoved = errors.New("mysql: the operation was rekeyed, or the session's unique_checks is off")
)

// number is the server's error number, 0 for an error that is not the server's.
func number(err error) uint16 {
	var e *driverlib.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// lostRace reports that another transaction committed a record of the same
// identity first. Only the engine's own statements say so: an effect's error may
// have any text in it.
func lostRace(err error) bool { return errors.Is(err, errRace) }

// rolledBack reports that the server has rolled the whole transaction back to
// break a tie; the same may succeed now. 3101 and 1047 are what Group
// Replication and Galera say.
func rolledBack(err error) bool {
	var e *driverlib.MySQLError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Number {
	case errDeadlock, errSnapshotMoved, 3101:
		return true
	}
	return e.SQLState[0] == '4' && e.SQLState[1] == '0'
}

// retryable reports a transaction that lost to another one and is to be run
// again from its start.
func retryable(err error) bool { return lostRace(err) || rolledBack(err) }

// broken reports that the connection is of no more use.
func broken(err error) bool {
	switch number(err) {
	case 0:
	case 1053, 1153, 1927, 2006, 2013, 4031: // shutdown, packet too large, killed, gone, lost, idle too long
		return true
	default:
		return false
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return false // it is our patience that ended, and another connection would take as long
	}
	var network net.Error
	for _, known := range [...]error{
		driver.ErrBadConn, driverlib.ErrInvalidConn, driverlib.ErrMalformPkt, driverlib.ErrPktSync,
		driverlib.ErrPktSyncMul, driverlib.ErrBusyBuffer, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, &network)
}

// fatal reports an error after which a transaction cannot be trusted: going on
// could commit a half.
func fatal(err error) bool {
	switch number(err) {
	case 0:
		return err != nil && (broken(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
	case errLockWait, 1317, 1969, 3024, // a statement that was cut short
		1021, 1030, 1114, 1290, 1792, 1836, 1180, 3100: // storage full, failing or read-only
		return true
	}
	return rolledBack(err) || broken(err)
}

// migrated names the reason where tables or the database are missing.
func migrated(err error) error {
	var e *driverlib.MySQLError
	if errors.As(err, &e) && (e.Number == errNoDatabase || e.Number == errNoTable && strings.Contains(e.Message, "refrain_")) {
		return fmt.Errorf("%w: %w", refrain.ErrNotMigrated, err)
	}
	return err
}
