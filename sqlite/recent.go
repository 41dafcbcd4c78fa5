package sqlite

import (
	"encoding/binary"
	"sync/atomic"
)

// recent remembers, approximately and for a while, which identities this
// process has met. It only chooses where to look first: a new key then costs
// one lookup instead of two, a repeat does not take the writer's turn.
type recent struct {
	tags [1 << 16]atomic.Uint32
}

// met reports whether hash was met before, and remembers it.
func (r *recent) met(hash [16]byte) bool {
	n := binary.LittleEndian.Uint64(hash[8:])
	tag := uint32(n>>32) | 1 // never zero, the empty slot
	return r.tags[uint16(n)].Swap(tag) == tag
}
