package naked

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	mathrand "math/rand/v2"
	"time"
)

// The parts of a record of about 650 bytes that do not depend on the key.
var (
	fingerprint = bytes.Repeat([]byte{0xA5}, 32)
	headers     = bytes.Repeat([]byte("h"), 90)
)

// Body is the result every case stores.
var Body = bytes.Repeat([]byte("b"), 393)

// RandomKey is a new key of 32 hexadecimal digits.
func RandomKey() string { return fmt.Sprintf("%016x%016x", mathrand.Uint64(), mathrand.Uint64()) }

// Preloaded is the i-th key Preload stores.
func Preloaded(i int) string { return fmt.Sprintf("preloaded-%022d", i) }

// OrderedKey is a new key that bears its birth, a UUIDv7 (RFC 9562 §5.7).
func OrderedKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	ms := time.Now().UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
