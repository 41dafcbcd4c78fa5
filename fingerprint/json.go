package fingerprint

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"sync"
)

// MaxDepth is the deepest nesting of arrays and objects that has a canonical
// form. It also bounds the work of putting nested names in order.
const MaxDepth = 128

// CanonicalJSON returns the canonical form of one JSON text (RFC 8259): names
// in the order of their UTF-16 code units, the shortest escapes and no
// whitespace, as RFC 8785 has it, and numbers as exact decimals:
// an optional minus sign, the digits without leading or trailing zeros and, if
// it is not zero, "e" and the exponent. 1.50 is 15e-1, 100 is 1e2, -0 is 0.
// The result is itself a JSON text with the same canonical form.
//
// Refused with a [SyntaxError]: anything that is not one JSON text, invalid
// UTF-8, lone surrogates, equal names in one object after unescaping, an
// exponent beyond [MaxExponent], nesting beyond [MaxDepth] and, unless
// exactNames, names in one object that encoding/json would take for the same
// field because they differ only by case folding. src is not altered.
func CanonicalJSON(src []byte, exactNames bool) ([]byte, error) {
	s := newScanner(src, exactNames)
	defer s.release()
	text, err := s.text()
	return bytes.Clone(text), err
}

// digestJSON is the SHA-256 of the canonical form.
func digestJSON(src []byte, exactNames bool) ([sha256.Size]byte, error) {
	s := newScanner(src, exactNames)
	defer s.release()
	text, err := s.text()
	return sha256.Sum256(text), err
}

// isBlank reports whether a body holds nothing but JSON whitespace.
func isBlank(body []byte) bool {
	s := scanner{src: body}
	s.space()
	return s.pos == len(body)
}

// scanner reads src once and appends the canonical form to out.
type scanner struct {
	src     []byte
	pos     int
	out     []byte
	members []member // of the open objects, the innermost last
	names   []byte   // unescaped names of those members
	scratch []byte
	folds   []fold
	exact   bool
}

// scanners keeps buffers of ordinary size for the next body.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

const keepBuffers = 64 << 10

func newScanner(src []byte, exactNames bool) *scanner {
	s := scanners.Get().(*scanner)
	s.src, s.exact = src, exactNames
	s.out = slices.Grow(s.out, len(src)+len(src)/8)
	return s
}

func (s *scanner) release() {
	if cap(s.out) > keepBuffers || cap(s.scratch) > keepBuffers || cap(s.names) > keepBuffers {
		return
	}
	*s = scanner{out: s.out[:0], members: s.members[:0], names: s.names[:0], scratch: s.scratch[:0], folds: s.folds[:0]}
	scanners.Put(s)
}

// text reads src and returns its canonical form, valid until release.
func (s *scanner) text() ([]byte, error) {
	s.space()
	if err := s.value(0); err != nil {
		return nil, err
	}
	s.space()
	if s.pos < len(s.src) {
		return nil, s.fail(s.pos, ReasonJSON)
	}
	return s.out, nil
}

func (s *scanner) fail(at int, why Reason) error {
	return &SyntaxError{Rule: RuleJSON, Offset: at, Reason: why}
}

func (s *scanner) space() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// take consumes c if it is next.
func (s *scanner) take(c byte) bool {
	if s.pos < len(s.src) && s.src[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) value(depth int) error {
	if s.pos == len(s.src) {
		return s.fail(s.pos, ReasonJSON)
	}
	switch s.src[s.pos] {
	case '{':
		return s.object(depth + 1)
	case '[':
		return s.array(depth + 1)
	case '"':
		return s.string()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

func (s *scanner) literal(word string) error {
	if end := s.pos + len(word); end <= len(s.src) && string(s.src[s.pos:end]) == word {
		s.pos = end
		s.out = append(s.out, word...)
		return nil
	}
	return s.fail(s.pos, ReasonJSON)
}

func (s *scanner) array(depth int) error {
	if depth > MaxDepth {
		return s.fail(s.pos, ReasonDepth)
	}
	s.pos++
	s.out = append(s.out, '[')
	s.space()
	if s.take(']') {
		s.out = append(s.out, ']')
		return nil
	}
	for {
		s.space()
		if err := s.value(depth); err != nil {
			return err
		}
		s.space()
		switch {
		case s.take(','):
			s.out = append(s.out, ',')
		case s.take(']'):
			s.out = append(s.out, ']')
			return nil
		default:
			return s.fail(s.pos, ReasonJSON)
		}
	}
}

func (s *scanner) object(depth int) error {
	if depth > MaxDepth {
		return s.fail(s.pos, ReasonDepth)
	}
	s.pos++
	s.out = append(s.out, '{')
	s.space()
	if s.take('}') {
		s.out = append(s.out, '}')
		return nil
	}
	firstMember, firstName, body := len(s.members), len(s.names), len(s.out)
	for {
		s.space()
		m, err := s.member(depth)
		if err != nil {
			return err
		}
		s.members = append(s.members, m)
		s.space()
		if s.take(',') {
			s.out = append(s.out, ',')
			continue
		}
		if !s.take('}') {
			return s.fail(s.pos, ReasonJSON)
		}
		break
	}
	if err := s.arrange(s.members[firstMember:], body); err != nil {
		return err
	}
	s.members, s.names = s.members[:firstMember], s.names[:firstName]
	s.out = append(s.out, '}')
	return nil
}

func (s *scanner) member(depth int) (member, error) {
	m := member{at: s.pos, from: len(s.out), name: len(s.names)}
	if s.pos == len(s.src) || s.src[s.pos] != '"' {
		return m, s.fail(s.pos, ReasonJSON)
	}
	if err := s.string(); err != nil {
		return m, err
	}
	s.names = appendUnescaped(s.names, s.out[m.from+1:len(s.out)-1])
	m.nameEnd = len(s.names)
	s.space()
	if !s.take(':') {
		return m, s.fail(s.pos, ReasonJSON)
	}
	s.out = append(s.out, ':')
	s.space()
	err := s.value(depth)
	m.to = len(s.out)
	return m, err
}
