package refrainhttp

import (
	"errors"
	"strings"
)

// MaxKey is the greatest length of a key in bytes, counted after decoding.
const MaxKey = 255

var (
	// ErrKeyMissing says that the request has no key field line at all.
	ErrKeyMissing = errors.New("refrainhttp: idempotency key missing")

	// ErrKeyInvalid is wrapped by every [KeyError].
	ErrKeyInvalid = errors.New("refrainhttp: idempotency key invalid")
)

// KeyReason is a fixed phrase for why a key was refused. It never holds a byte
// of the key.
type KeyReason string

// The reasons of a [KeyError].
const (
	KeyRepeated   KeyReason = "more than one field line"
	KeyEmpty      KeyReason = "empty"
	KeyTooLong    KeyReason = "longer than 255 bytes"
	KeyCharacter  KeyReason = "a character that is not allowed"
	KeyUnclosed   KeyReason = "no closing quote"
	KeyEscape     KeyReason = "a backslash before something other than a quote or a backslash"
	KeyParameters KeyReason = "malformed parameters after the closing quote"
	KeyBare       KeyReason = "not a quoted string"
)

// KeyError says why a key was refused. It is an [ErrKeyInvalid].
type KeyError struct{ Reason KeyReason }

func (e *KeyError) Error() string { return ErrKeyInvalid.Error() + ": " + string(e.Reason) }

// Unwrap returns [ErrKeyInvalid].
func (e *KeyError) Unwrap() error { return ErrKeyInvalid }

// ParseKey decodes the key from the field lines of its header, 1 to [MaxKey]
// bytes. Two forms are read, spaces around them dropped:
//
//   - an RFC 9651 String item, "…"; parameters after it must be well formed
//     and are ignored;
//   - unless strict, a bare value of visible ASCII other than the comma, the
//     double quote and the semicolon. It is taken as it stands: a backslash, a
//     percent sign or a single quote in it is part of the key.
//
// k and "k" are the same key; 'k' is another one. No line is [ErrKeyMissing];
// several lines, even equal ones, and everything malformed are a [KeyError].
func ParseKey(lines []string, strict bool) (string, error) {
	switch len(lines) {
	case 0:
		return "", ErrKeyMissing
	case 1:
	default:
		return "", &KeyError{KeyRepeated}
	}
	line := strings.Trim(lines[0], " ")
	var key string
	switch {
	case line == "":
		return "", &KeyError{KeyEmpty}
	case line[0] == '"':
		text, rest, why := readQuoted(line)
		if why != "" {
			return "", &KeyError{why}
		}
		if !validParameters(rest) {
			return "", &KeyError{KeyParameters}
		}
		key = text
	case strict:
		return "", &KeyError{KeyBare}
	case !isBareKey(line):
		return "", &KeyError{KeyCharacter}
	default:
		key = line
	}
	switch {
	case key == "":
		return "", &KeyError{KeyEmpty}
	case len(key) > MaxKey:
		return "", &KeyError{KeyTooLong}
	}
	return key, nil
}

// FormatKey serialises a key as an RFC 9651 String (§4.1.6), the form that
// strict and lenient servers read alike. A key with bytes outside 0x20–0x7E
// has no such form and is a [KeyError], as is one that is empty or too long.
func FormatKey(key string) (string, error) {
	switch {
	case key == "":
		return "", &KeyError{KeyEmpty}
	case len(key) > MaxKey:
		return "", &KeyError{KeyTooLong}
	}
	var b strings.Builder
	b.Grow(len(key) + 2)
	b.WriteByte('"')
	for i := range len(key) {
		c := key[i]
		if c < ' ' || c > '~' {
			return "", &KeyError{KeyCharacter}
		}
		if c == '"' || c == '\\' {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	b.WriteByte('"')
	return b.String(), nil
}

func isBareKey(line string) bool {
	for i := range len(line) {
		switch c := line[i]; {
		case c <= ' ' || c > '~', c == ',', c == '"', c == ';':
			return false
		}
	}
	return true
}
