package upkeep

import (
	"errors"
	"strings"
)

// ErrUnsigned means that something was to be done that is audited, without a name
// or a reason of 1 to 1,000 bytes that are not all blank.
var ErrUnsigned = errors.New("refrain: what is audited needs a name and a reason, not blank, of 1 to 1,000 bytes")

// Signed checks who does something that is audited, and why: [ErrUnsigned].
func Signed(by, reason string) error {
	for _, words := range [...]string{by, reason} {
		if strings.TrimSpace(words) == "" || len(words) > maxWords {
			return ErrUnsigned
		}
	}
	return nil
}
