package fingerprint

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// string reads RFC 8259 §7 and appends the form of RFC 8785 §3.2.2.2: only the
// quote, the backslash and the control characters are escaped.
func (s *scanner) string() error {
	src, p := s.src, s.pos+1
	s.out = append(s.out, '"')
	run := p
	for p < len(src) {
		switch c := src[p]; {
		case c == '"':
			s.out = append(s.out, src[run:p]...)
			s.out = append(s.out, '"')
			s.pos = p + 1
			return nil
		case c == '\\':
			s.out = append(s.out, src[run:p]...)
			r, n, why := readEscape(src[p:])
			if why != "" {
				return s.fail(p, why)
			}
			s.out = appendEscaped(s.out, r)
			p += n
			run = p
		case c < ' ':
			return s.fail(p, ReasonJSON)
		case c < utf8.RuneSelf:
			p++
		default:
			r, n := utf8.DecodeRune(src[p:])
			if r == utf8.RuneError && n == 1 {
				return s.fail(p, ReasonUTF8)
			}
			p += n
		}
	}
	return s.fail(p, ReasonJSON)
}

// readEscape reads the escape that text begins with and returns the rune and
// the length of the escape, or the reason to refuse it.
func readEscape(text []byte) (r rune, n int, why Reason) {
	if len(text) < 2 {
		return 0, 0, ReasonJSON
	}
	switch c := text[1]; c {
	case '"', '\\', '/':
		return rune(c), 2, ""
	case 'b':
		return '\b', 2, ""
	case 'f':
		return '\f', 2, ""
	case 'n':
		return '\n', 2, ""
	case 'r':
		return '\r', 2, ""
	case 't':
		return '\t', 2, ""
	}
	unit, ok := readUnit(text)
	if !ok {
		return 0, 0, ReasonJSON
	}
	if !utf16.IsSurrogate(unit) {
		return unit, 6, ""
	}
	low, ok := readUnit(text[6:])
	if !ok {
		return 0, 0, ReasonSurrogate
	}
	if r = utf16.DecodeRune(unit, low); r == utf8.RuneError {
		return 0, 0, ReasonSurrogate
	}
	return r, 12, ""
}

// readUnit reads the UTF-16 code unit of a \uXXXX escape.
func readUnit(text []byte) (unit rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, c := range text[2:6] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(c)
	}
	return unit, true
}

func appendEscaped(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if r < ' ' {
		const hex = "0123456789abcdef"
		return append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&0xF])
	}
	return utf8.AppendRune(dst, r)
}

// appendUnescaped appends what canonical string text, without its quotes,
// stands for.
func appendUnescaped(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return append(dst, text...)
		}
		r, n, _ := readEscape(text[i:])
		dst = utf8.AppendRune(append(dst, text[:i]...), r)
		text = text[i+n:]
	}
}
