package record

import (
	"crypto/sha256"
	"encoding/binary"
)

// MaxKey is the longest key in bytes. Keys are compared byte for byte.
const MaxKey = 255

// Identity names one intended action: (scope, operation, key). The components
// stay apart everywhere; they are never joined into one ambiguous string.
type Identity struct {
	Scope     string // injective encoding of the verified dimensions
	Operation string // stable id of the action type, "orders.create"
	Key       string // the client's key, 1 to [MaxKey] bytes
}

// Hash is the 16-byte storage key of the identity: SHA-256 over the
// length-prefixed components. The components are stored beside it and compared
// on every read, so a collision is noticed and never merges two actions.
//
// A key that is a UUIDv7 puts its 48-bit birth first: such identities arrive
// in index order, which halves the cost of the index. The other ten bytes are
// the digest's.
func (id Identity) Hash() [16]byte {
	var buf [512]byte
	b := buf[:0]
	for _, part := range [3]string{id.Scope, id.Operation, id.Key} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(b)
	var h [16]byte
	copy(h[:], sum[:16])
	if ms, ok := uuidv7Millis(id.Key); ok {
		var be [8]byte
		binary.BigEndian.PutUint64(be[:], ms)
		copy(h[:6], be[2:])
	}
	return h
}
