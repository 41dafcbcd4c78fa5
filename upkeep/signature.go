package upkeep

import "errors"

// ErrUnsigned means that something was to be done that is audited, without a name
// or a reason of 1 to 1,000 bytes.
var ErrUnsigned = errors.New("refrain: what is audited needs a name and a reason of 1 to 1,000 bytes")

// Signed checks who does something that is audited, and why: [ErrUnsigned].
func Signed(by, reason string) error {
	if by == "" || reason == "" || len(by) > maxWords || len(reason) > maxWords {
		return ErrUnsigned
	}
	return nil
}
