package record

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
	"time"
)

// refBytes is 48 bits of milliseconds and 96 random bits.
const refBytes = 18

var refEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewRef makes the public, unguessable id of a record born at now: "op_" and
// base32 of 48-bit milliseconds and 96 random bits. Refs sort by birth and are
// never reused, which also makes them the token of a compare-and-swap.
func NewRef(now time.Time) string {
	var b [refBytes]byte
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	_, _ = rand.Read(b[6:]) // never fails: crypto/rand aborts the process instead
	return "op_" + refEncoding.EncodeToString(b[:])
}

// RefAt is where the refs of t begin: those of earlier milliseconds sort before it,
// those of t itself and of later ones do not.
func RefAt(t time.Time) string {
	var b [refBytes]byte
	ms := uint64(max(t.UnixMilli(), 0))
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	return "op_" + refEncoding.EncodeToString(b[:])
}

// ValidRef reports whether s has the form of a ref. It bounds what reaches a
// store: anything else is simply not found.
func ValidRef(s string) bool {
	body, ok := strings.CutPrefix(s, "op_")
	if !ok || len(body) != refEncoding.EncodedLen(refBytes) {
		return false
	}
	b, err := refEncoding.DecodeString(body)
	return err == nil && refEncoding.EncodeToString(b) == body // the decoder skips line breaks
}
