package refrainhttp

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/refrain-dev/refrain"
)

// fresh runs the request as an action of its own, under a key made for it.
func (x *exchange) fresh() (refrain.Outcome, error) {
	x.made = true
	return x.call(freshKey(x.Now()))
}

// freshKey makes a key for a request that has none of its own: a UUIDv7, which
// comes in index order. Nothing reads its time, since it cannot be a retry.
func freshKey(now time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the process instead
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(b[:6], ms[2:])
	b[6] = b[6]&0x0f | 0x70
	return uuid(b)
}

// newUUID is a random UUID, version 4 (RFC 9562 §5.4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	return uuid(b)
}

// uuid writes b with the RFC 9562 variant.
func uuid(b [16]byte) string {
	b[8] = b[8]&0x3f | 0x80
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:36], b[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}
