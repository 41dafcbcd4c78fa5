package fingerprint

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// member is one name and value of an open object.
type member struct {
	at            int // offset of the name in src
	from, to      int // canonical text of name, colon and value in out
	name, nameEnd int // unescaped name in names
}

// fold is the folded name of a member.
type fold struct {
	at       int // offset of the name in src
	from, to int // in scratch
}

// arrange refuses equal names and puts the members, whose text begins at body
// in out, in canonical order.
func (s *scanner) arrange(members []member, body int) error {
	order := func(a, b member) int { return compareUTF16(s.nameOf(a), s.nameOf(b)) }
	sorted := slices.IsSortedFunc(members, order)
	if !sorted {
		slices.SortFunc(members, order)
	}
	for i := 1; i < len(members); i++ {
		if bytes.Equal(s.nameOf(members[i-1]), s.nameOf(members[i])) {
			return s.fail(max(members[i-1].at, members[i].at), ReasonDuplicateName)
		}
	}
	if !s.exact {
		if err := s.refuseFolded(members); err != nil {
			return err
		}
	}
	if sorted {
		return nil
	}
	s.scratch = append(s.scratch[:0], s.out[body:]...)
	s.out = s.out[:body]
	for i, m := range members {
		if i > 0 {
			s.out = append(s.out, ',')
		}
		s.out = append(s.out, s.scratch[m.from-body:m.to-body]...)
	}
	return nil
}

func (s *scanner) nameOf(m member) []byte { return s.names[m.name:m.nameEnd] }

// compareUTF16 orders two UTF-8 texts by their UTF-16 code units (RFC 8785
// §3.2.3). That is the order of the bytes, except that U+E000..U+FFFF (first
// byte EE or EF) come after the supplementary planes (first byte F0..F4),
// whose first unit is a surrogate.
func compareUTF16(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if x, y := a[i], b[i]; x != y {
			if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
				x, y = y, x
			}
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

// refuseFolded refuses two names that encoding/json, which falls back to case
// folding when it looks for a struct field, could store in the same field.
func (s *scanner) refuseFolded(members []member) error {
	if len(members) < 2 {
		return nil
	}
	s.scratch, s.folds = s.scratch[:0], s.folds[:0]
	for _, m := range members {
		from := len(s.scratch)
		s.scratch = appendFolded(s.scratch, s.nameOf(m))
		s.folds = append(s.folds, fold{m.at, from, len(s.scratch)})
	}
	folded := func(n fold) []byte { return s.scratch[n.from:n.to] }
	slices.SortFunc(s.folds, func(a, b fold) int { return bytes.Compare(folded(a), folded(b)) })
	for i := 1; i < len(s.folds); i++ {
		if bytes.Equal(folded(s.folds[i-1]), folded(s.folds[i])) {
			return s.fail(max(s.folds[i-1].at, s.folds[i].at), ReasonFoldedName)
		}
	}
	return nil
}

// appendFolded appends name with every rune replaced by the least one of its
// simple-folding orbit: k, K and the Kelvin sign all become K.
func appendFolded(dst, name []byte) []byte {
	for i := 0; i < len(name); {
		if c := name[i]; c < utf8.RuneSelf {
			if 'a' <= c && c <= 'z' {
				c -= 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(name[i:])
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		dst = utf8.AppendRune(dst, least)
		i += n
	}
	return dst
}
