package record

import (
	"slices"
	"time"
)

// KeyTime says how the birth of a key is read from the key itself. A header
// cannot stand in for it: only what is part of the identity is as old as the
// identity.
type KeyTime int

const (
	// ByShape reads the time of a UUIDv7 (RFC 9562 §5.7); every other key is
	// untimed. The default.
	ByShape KeyTime = iota
	// ULID reads the time of a 26-character ULID, and of a UUIDv7.
	ULID
	// None takes keys for entity ids: never timed, whatever they look like.
	None
	// Required is ByShape where an untimed key is refused.
	Required
)

var keyTimes = [...]string{"by-shape", "ulid", "none", "required"}

func (kt KeyTime) String() string {
	if kt < 0 || int(kt) >= len(keyTimes) {
		return "invalid"
	}
	return keyTimes[kt]
}

// ParseKeyTime is the inverse of String; ok is false for any other text.
func ParseKeyTime(s string) (kt KeyTime, ok bool) {
	i := slices.Index(keyTimes[:], s)
	return KeyTime(max(i, 0)), i >= 0
}

// ReadsMore reports whether kt finds a time in keys in which other finds none. What
// was forgotten under other raised no horizon for those.
func (kt KeyTime) ReadsMore(other KeyTime) bool {
	return other == None && kt != None || kt == ULID && other != ULID
}

// Birth returns the instant inside key (millisecond precision) and whether the
// key bears one under kt.
func (kt KeyTime) Birth(key string) (time.Time, bool) {
	if kt == None {
		return time.Time{}, false
	}
	ms, ok := uuidv7Millis(key)
	if !ok && kt == ULID {
		ms, ok = ulidMillis(key)
	}
	if !ok {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(ms)).UTC(), true
}

// uuidv7Millis reads the 48-bit Unix milliseconds of a UUIDv7 in its 36
// character text form, either letter case.
func uuidv7Millis(key string) (ms uint64, ok bool) {
	if len(key) != 36 || key[14] != '7' {
		return 0, false
	}
	for i := range len(key) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if key[i] != '-' {
				return 0, false
			}
			continue
		}
		n, ok := hexDigit(key[i])
		if !ok {
			return 0, false
		}
		if i == 19 && n&0xc != 0x8 {
			return 0, false // not the RFC 9562 variant
		}
		if i < 13 {
			ms = ms<<4 | uint64(n)
		}
	}
	return ms, true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// ulidMillis reads the 48-bit Unix milliseconds of a ULID: 26 characters of
// Crockford's base32, the first at most '7'.
func ulidMillis(key string) (ms uint64, ok bool) {
	if len(key) != 26 || key[0] > '7' {
		return 0, false
	}
	for i := range len(key) {
		n := crockford[key[i]]
		if n == 0xff {
			return 0, false
		}
		if i < 10 {
			ms = ms<<5 | uint64(n)
		}
	}
	return ms, true
}

var crockford = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i, c := range []byte("0123456789ABCDEFGHJKMNPQRSTVWXYZ") {
		t[c] = byte(i)
		if c >= 'A' {
			t[c+'a'-'A'] = byte(i)
		}
	}
	return t
}()
