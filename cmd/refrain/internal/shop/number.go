package shop

import (
	"strconv"
	"strings"
)

// integer reads a JSON number that is an integer by value: 2, 2.0, 2e0 and
// 20e-1 are the same one. It is exact and never expands an exponent that does
// not fit; ok is false for fractions, numbers beyond int64 and anything else.
func integer(text string) (n int64, ok bool) {
	mantissa, exponent, scaled := cutExponent(text)
	negative := strings.HasPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	digits := whole + fraction
	if whole == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	shift := 0
	if scaled {
		e, err := strconv.Atoi(exponent)
		if err != nil {
			return 0, strings.Trim(digits, "0") == ""
		}
		shift = e
	}
	short := strings.TrimRight(digits, "0")
	zeros := len(digits) - len(short) - len(fraction)
	short = strings.TrimLeft(short, "0")
	const most = 19 // digits of the greatest int64
	switch {
	case short == "":
		return 0, true
	case shift < -zeros, shift > most, len(short)+zeros+shift > most:
		return 0, false
	}
	if negative {
		short = "-" + short
	}
	n, err := strconv.ParseInt(short+strings.Repeat("0", zeros+shift), 10, 64)
	if err != nil {
		return 0, false
	}
	return n, true
}

func cutExponent(text string) (mantissa, exponent string, found bool) {
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, "", false
}
