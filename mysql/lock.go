package mysql

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"strings"
)

// The user lock of an identity only avoids work that would be thrown away: who
// does not get it executes nothing. Its name is the server's database and the
// identity's hash, within the 64 characters the server allows. It is the
// connection's, not the transaction's, so it is released behind COMMIT, or the
// connection is closed.
const (
	lockName   = `CONCAT('refrain_', LEFT(SHA2(CONCAT(CAST(DATABASE() AS BINARY), HEX(?)), 256), 40))`
	takeLock   = `SELECT GET_LOCK(` + lockName + `, 0) LIMIT 1`
	dropLock   = `SELECT RELEASE_LOCK(` + lockName + `) LIMIT 1`
	lockIsHeld = `IS_USED_LOCK(` + lockName + `) <> CONNECTION_ID()`
)

// lockError is what the statement of a lock says; the same number of another
// statement tells nothing of locks.
type lockError struct{ error }

func (e lockError) Unwrap() error { return e.error }

func ofLock(asked bool, err error) error {
	if err == nil || !asked {
		return err
	}
	return lockError{err}
}

// noSuchLock reports that the server or what stands before it refuses GET_LOCK:
// the engine does without from then on, and [DB.Doctor] tells.
func noSuchLock(err error) bool {
	var refused lockError
	if !errors.As(err, &refused) {
		return false
	}
	switch number(refused) {
	case 1105, 1235, errNoSavepoint, 1370, 1227: // said by clusters and proxies; no such function; not allowed
		return true
	}
	return false
}

// getLock asks for the lock of an identity.
func getLock(ctx context.Context, q runner, hash [16]byte) (held bool, err error) {
	rows, err := q.QueryContext(ctx, takeLock, hash[:])
	if err != nil {
		return false, ofLock(true, err)
	}
	held, err = readHeld(rows)
	return held, errors.Join(err, rows.Close())
}

// newMarker is the name of the savepoint that marks the start of the effect. No
// effect can guess it, so the name stands exactly as long as the transaction.
func newMarker() string {
	var b [15]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the process instead
	return "refrain_" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}
