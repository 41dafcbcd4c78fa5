package upkeep

import (
	"errors"
	"fmt"
	"time"
)

// Once is one value of a rule that holds for ever. It is no receipt: it answers
// nothing, ends never, and knows no key.
type Once struct {
	Rule  string    `json:"rule"`
	Value string    `json:"value"`
	Ref   string    `json:"ref"` // of the action that took it; "" outside one
	At    time.Time `json:"at"`
}

// OnceQuery selects what a rule holds, in the order of the values.
type OnceQuery struct {
	Rule  string
	After string // the value to go on behind
	Limit int    // 0 means 100, cut to 1,000
}

// Bounded is the limit of q.
func (q OnceQuery) Bounded() int { return ReviewQuery{Limit: q.Limit}.Bounded() }

// ErrOnce is wrapped by what is wrong with a rule or a value.
var ErrOnce = errors.New("refrain: Once needs a rule of 1 to 100 and a value of 1 to 255 bytes")

// CheckOnce is what is wrong with the arguments of an engine's Once: [ErrOnce].
func CheckOnce(rule, value string) error {
	if rule == "" || len(rule) > 100 || value == "" || len(value) > maxName {
		return fmt.Errorf("%w: they have %d and %d", ErrOnce, len(rule), len(value))
	}
	return nil
}
