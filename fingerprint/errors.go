package fingerprint

import (
	"errors"
	"fmt"
)

var (
	// ErrNotCanonical is wrapped by every [SyntaxError]: the body or the query
	// has no canonical form under its rule.
	ErrNotCanonical = errors.New("fingerprint: no canonical form")

	// ErrBodyTooLarge says that the body, or what it decodes to, is longer
	// than [Options].MaxBody.
	ErrBodyTooLarge = errors.New("fingerprint: body too large")

	// ErrUnknownRule says that [Options].Rule names no rule of this package.
	ErrUnknownRule = errors.New("fingerprint: unknown rule")
)

// Reason is a fixed word for why an input was refused. It never holds payload.
type Reason string

// The reasons of a [SyntaxError].
const (
	ReasonJSON          Reason = "invalid-json"    // not RFC 8259, or data after the value
	ReasonUTF8          Reason = "invalid-utf8"    // bytes that are not UTF-8
	ReasonSurrogate     Reason = "invalid-unicode" // a lone or reversed surrogate escape
	ReasonDuplicateName Reason = "duplicate-name"  // equal names in one object, after unescaping
	ReasonFoldedName    Reason = "folded-name"     // names in one object equal under case folding
	ReasonExponent      Reason = "exponent"        // beyond MaxExponent
	ReasonDepth         Reason = "depth"           // beyond MaxDepth
	ReasonEscape        Reason = "invalid-escape"  // a bad percent escape
	ReasonMultipart     Reason = "invalid-multipart"
	ReasonCoding        Reason = "invalid-coding" // a gzip or deflate body that does not decode
)

// SyntaxError says where and why an input has no canonical form.
type SyntaxError struct {
	Rule   string // the rule that refused: a Rule… constant, "query" or "content-encoding"
	Offset int    // bytes into the decoded input; 0 where the parser cannot tell
	Reason Reason
}

// Error names rule, reason and offset, and no byte of the input.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("fingerprint: %s: %s at byte %d", e.Rule, e.Reason, e.Offset)
}

// Unwrap makes every SyntaxError an [ErrNotCanonical].
func (e *SyntaxError) Unwrap() error { return ErrNotCanonical }
