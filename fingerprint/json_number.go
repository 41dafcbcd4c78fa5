package fingerprint

import "strconv"

// MaxExponent bounds the decimal exponent of a number's canonical form, in
// both directions. Zero has no exponent, however it is written.
const MaxExponent = 1_000_000

// A written exponent is counted no further than this: it is far beyond
// MaxExponent and beyond what the digits of any body could bring back.
const exponentCeiling = int64(1) << 52

// number reads RFC 8259 §6 and appends sign, digits and exponent. Every value
// has one such text and the digits are never expanded.
func (s *scanner) number() error {
	start, mark := s.pos, len(s.out)
	if s.take('-') {
		s.out = append(s.out, '-')
	}
	first := len(s.out)
	whole := s.digits()
	if whole == 0 || (whole > 1 && s.out[first] == '0') {
		return s.fail(start, ReasonJSON)
	}
	var exponent int64
	if s.take('.') {
		fraction := s.digits()
		if fraction == 0 {
			return s.fail(start, ReasonJSON)
		}
		exponent -= int64(fraction)
	}
	if s.take('e') || s.take('E') {
		written, ok := s.exponent()
		if !ok {
			return s.fail(start, ReasonJSON)
		}
		exponent += written
	}
	digits := s.out[first:]
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
		exponent++
	}
	if len(digits) == 0 {
		s.out = append(s.out[:mark], '0')
		return nil
	}
	if exponent < -MaxExponent || exponent > MaxExponent {
		return s.fail(start, ReasonExponent)
	}
	zeros := 0
	for digits[zeros] == '0' {
		zeros++
	}
	s.out = append(s.out[:first], digits[zeros:]...)
	if exponent != 0 {
		s.out = append(s.out, 'e')
		s.out = strconv.AppendInt(s.out, exponent, 10)
	}
	return nil
}

// digits copies a run of digits to out and returns its length.
func (s *scanner) digits() int {
	from := s.pos
	for s.pos < len(s.src) && isDigit(s.src[s.pos]) {
		s.pos++
	}
	s.out = append(s.out, s.src[from:s.pos]...)
	return s.pos - from
}

// exponent reads the part after "e"; ok is false when it has no digit.
func (s *scanner) exponent() (value int64, ok bool) {
	negative := s.take('-')
	if !negative {
		s.take('+')
	}
	for ; s.pos < len(s.src) && isDigit(s.src[s.pos]); s.pos++ {
		ok = true
		if value < exponentCeiling {
			value = value*10 + int64(s.src[s.pos]-'0')
		}
	}
	if negative {
		value = -value
	}
	return value, ok
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
