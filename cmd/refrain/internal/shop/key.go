package shop

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"
)

// FreshKey is a key for one new intention: a UUIDv7 (RFC 9562 §5.7), which
// carries the time of its birth.
func FreshKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the process instead
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(time.Now().UnixMilli()))
	copy(b[:6], ms[2:])
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
