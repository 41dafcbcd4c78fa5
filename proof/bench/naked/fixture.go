package naked

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// The parts of a record of about 650 bytes that do not depend on the key.
var (
	fingerprint = bytes.Repeat([]byte{0xA5}, 32)
	headers     = bytes.Repeat([]byte("h"), 90)
)

// Body is the result every case stores.
var Body = bytes.Repeat([]byte("b"), 393)

// RandomKey is a new key of 32 hexadecimal digits.
func RandomKey() string { return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) }

// Preloaded is the i-th key Preload stores.
func Preloaded(i int) string { return fmt.Sprintf("preloaded-%022d", i) }
