package refrainhttp

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// fresh runs the request as an action of its own, under a fresh key. Where the
// store's clock is behind ours it would take the key for one from the future:
// then the birth is the store's own time.
func (x *exchange) fresh() (refrain.Outcome, error) {
	out, err := x.call(freshKey(x.contract.KeyTime, x.Now()))
	if e := refusal(err); e != nil && e.Problem == record.KeyFromFuture {
		return x.call(freshKey(x.contract.KeyTime, e.Now))
	}
	return out, err
}

// freshKey makes a key for a request that has none of its own. It is born now
// and carries that time, so a fence or a horizon judges it as what it is.
func freshKey(kt refrain.KeyTime, now time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the process instead
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(b[:6], ms[2:])
	if kt == refrain.KeyTimeULID {
		return ulid(b)
	}
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

var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// ulid writes b in 26 characters of five bits, two zero bits first.
func ulid(b [16]byte) string {
	var padded [20]byte // 160 bits: 32 characters, of which the last 26 are ours
	copy(padded[4:], b[:])
	return crockford.EncodeToString(padded[:])[6:]
}
