package fingerprint

import (
	"cmp"
	"crypto/sha256"
	"net/url"
	"slices"
	"strings"
)

// digestForm digests an application/x-www-form-urlencoded body.
func digestForm(body []byte) ([sha256.Size]byte, error) {
	pairs, err := parsePairs(RuleForm, string(body))
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	var p preimage
	p.pairs(pairs)
	return p.sum(), nil
}

// parsePairs splits a form or a query at "&" and the first "=", decodes both
// sides and sorts by name only. As in the URL Standard's parser, an empty piece
// is no pair and a piece without "=" has the empty value; unlike it, a bad
// escape is refused. ";" is a character like any other.
func parsePairs(rule, text string) ([][2]string, error) {
	if text == "" {
		return nil, nil
	}
	pairs := make([][2]string, 0, strings.Count(text, "&")+1)
	offset := 0
	for piece := range strings.SplitSeq(text, "&") {
		if piece != "" {
			name, value, _ := strings.Cut(piece, "=")
			n, errName := url.QueryUnescape(name)
			v, errValue := url.QueryUnescape(value)
			if errName != nil || errValue != nil {
				return nil, &SyntaxError{Rule: rule, Offset: offset, Reason: ReasonEscape}
			}
			pairs = append(pairs, [2]string{n, v})
		}
		offset += len(piece) + 1
	}
	sortByName(pairs)
	return pairs, nil
}

// sortByName keeps the values of one name in their order.
func sortByName(pairs [][2]string) {
	slices.SortStableFunc(pairs, func(a, b [2]string) int { return cmp.Compare(a[0], b[0]) })
}
