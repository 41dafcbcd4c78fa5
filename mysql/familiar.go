package mysql

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// familiar remembers identities met lately, some tens of thousands of them in half
// a megabyte; a later one takes the place of an earlier one. The zero value is
// ready.
type familiar [1 << 16]atomic.Uint64

// met reports whether the identity was here, and notes it.
func (f *familiar) met(hash [16]byte) bool {
	// A UUIDv7's own time comes first in its hash; the rest is a digest.
	mark := binary.LittleEndian.Uint64(hash[8:]) | 1
	return f[binary.LittleEndian.Uint16(hash[6:])].Swap(mark) == mark
}

// unseen reports a key that was almost certainly never met: then the transaction
// comes first, which looks anyway. A wrong guess costs time and nothing else.
func (db *DB) unseen(c *record.Claim) bool {
	if db.familiar.met(c.Hash) {
		return false
	}
	born, timed := c.Policy.KeyTime.Birth(c.Identity.Key)
	return !timed || db.now(time.Now()).Sub(born) < time.Second
}
