package postgres

import "sync/atomic"

// recent remembers which identities were asked for lately, so that the next call
// looks before it begins a transaction. It may forget and, rarely, mistake one
// for another: it only chooses what comes first. The zero value is ready.
type recent struct {
	slots [1 << 16]atomic.Int64 // 512 KiB
}

// seen reports whether the identity was asked for lately, and notes that it is.
func (r *recent) seen(hash [16]byte) bool {
	key := lockKey(hash)
	return r.slots[uint64(key)%uint64(len(r.slots))].Swap(key) == key
}
