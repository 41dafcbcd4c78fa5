package refrainhttp

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// The part of RFC 9651 that stands around a key: the String itself and the
// parameters behind it, which are checked and dropped.

// readQuoted reads the String that line begins with (§4.2.5) and returns what
// follows the closing quote.
func readQuoted(line string) (text, rest string, why KeyReason) {
	var b strings.Builder
	for i := 1; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			return b.String(), line[i+1:], ""
		case c == '\\':
			i++
			if i == len(line) {
				return "", "", KeyUnclosed
			}
			if line[i] != '"' && line[i] != '\\' {
				return "", "", KeyEscape
			}
			b.WriteByte(line[i])
		case c < ' ' || c > '~':
			return "", "", KeyCharacter
		default:
			b.WriteByte(c)
		}
	}
	return "", "", KeyUnclosed
}

// validParameters reports whether text is nothing but parameters (§4.2.3.2).
func validParameters(text string) bool {
	for text != "" {
		if text[0] != ';' {
			return false
		}
		text = strings.TrimLeft(text[1:], " ")
		if text == "" || !isLower(text[0]) && text[0] != '*' {
			return false
		}
		text = skip(text, isKeyChar)
		if !strings.HasPrefix(text, "=") {
			continue
		}
		rest, ok := skipBareItem(text[1:])
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// skipBareItem skips a bare item of any type (§4.2.3.1).
func skipBareItem(text string) (rest string, ok bool) {
	if text == "" {
		return "", false
	}
	switch c := text[0]; {
	case c == '"':
		_, rest, why := readQuoted(text)
		return rest, why == ""
	case c == '-' || isDigit(c):
		rest, _, ok = skipNumber(text)
		return rest, ok
	case c == '*' || isAlpha(c):
		return skip(text, isTokenChar), true
	case c == ':':
		return skipBytes(text)
	case c == '?':
		if len(text) < 2 || text[1] != '0' && text[1] != '1' {
			return "", false
		}
		return text[2:], true
	case c == '@':
		rest, decimal, ok := skipNumber(text[1:])
		return rest, ok && !decimal
	case c == '%':
		return skipDisplay(text)
	}
	return "", false
}

// skipNumber skips an Integer of at most 15 digits or a Decimal of at most 12
// and 3 (§4.2.4).
func skipNumber(text string) (rest string, decimal, ok bool) {
	text = strings.TrimPrefix(text, "-")
	rest = skip(text, isDigit)
	whole := len(text) - len(rest)
	if !strings.HasPrefix(rest, ".") {
		return rest, false, 1 <= whole && whole <= 15
	}
	after := skip(rest[1:], isDigit)
	fraction := len(rest) - 1 - len(after)
	return after, true, 1 <= whole && whole <= 12 && 1 <= fraction && fraction <= 3
}

// skipBytes skips a Byte Sequence, its padding optional (§4.2.7).
func skipBytes(text string) (rest string, ok bool) {
	content, rest, ok := strings.Cut(text[1:], ":")
	if !ok || strings.ContainsAny(content, "\r\n") {
		return "", false
	}
	_, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(content, "="))
	return rest, err == nil
}

// skipDisplay skips a Display String (§4.2.10): ASCII with lower-case percent
// escapes that decode to UTF-8.
func skipDisplay(text string) (rest string, ok bool) {
	if !strings.HasPrefix(text, `%"`) {
		return "", false
	}
	var content []byte
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return text[i+1:], utf8.Valid(content)
		case c < ' ' || c > '~':
			return "", false
		case c == '%':
			if i+2 >= len(text) || !isLowerHex(text[i+1]) || !isLowerHex(text[i+2]) {
				return "", false
			}
			content = append(content, hexValue(text[i+1])<<4|hexValue(text[i+2]))
			i += 2
		default:
			content = append(content, c)
		}
	}
	return "", false
}

func skip(text string, in func(byte) bool) string {
	i := 0
	for i < len(text) && in(text[i]) {
		i++
	}
	return text[i:]
}

func isDigit(c byte) bool    { return '0' <= c && c <= '9' }
func isLower(c byte) bool    { return 'a' <= c && c <= 'z' }
func isAlpha(c byte) bool    { return isLower(c) || 'A' <= c && c <= 'Z' }
func isLowerHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' }

func isKeyChar(c byte) bool {
	return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0
}

func isTokenChar(c byte) bool {
	return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
}

func hexValue(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c - 'a' + 10
}
