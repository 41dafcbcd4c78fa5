package external

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// Profile says how an HTTP API keeps its idempotency keys and what its answers
// prove. It is data: take one of this package's and change what your account
// differs in, or write your own.
//
// # Writing a provider
//
// For an HTTP API fill in a Profile, from the provider's documentation alone:
//
//  1. Terms: does a repeated key act again, and for how long not? Without a
//     documented promise leave Dedupes false; a person then decides about a lost
//     answer. A window that is too long charges twice, one that is too short asks
//     a person too early.
//  2. KeyHeader or KeyField, and the length of a key.
//  3. Rules, most special first: which answers prove that the provider refused and
//     did nothing? List no status that something in front of the provider could
//     give after it acted. Which of them are the stored answer of the first
//     attempt, and how is that told? A key in use and a key with another payload
//     are Lost: they tell nothing about the first attempt. The latter is a defect
//     that no repeat cures: park it.
//  4. Reference: where the provider's own id of the effect stands.
//
// What is not HTTP, or needs a library of the provider, implements [Provider]
// itself: ask [Submission.Gate] right before sending, send one time, and answer
// Lost unless the provider proved something else. Turn off whatever that library
// repeats by itself.
type Profile struct {
	Name   string // in notes
	Terms  operation.Terms
	Method string // of a submission; "" means POST
	// KeyHeader is the request field, or KeyField the first-level member of a JSON
	// body, that carries the key. At most one of them; Build may do it instead.
	KeyHeader, KeyField string
	// ExpiryHeader is a request field by which the provider refuses a request that
	// reaches it late: it is sent the attempt's NotAfter as an HTTP date. "" where
	// the provider honours none, as most do.
	ExpiryHeader string
	// Reference is where the provider's id of the effect stands in an answer that
	// confirms, as [Answer.Field] takes it; where it is missing the answer is Lost.
	// "" means that a confirmation needs no body.
	Reference string
	Rules     []Rule
}

// Rule says what an answer proves that looks like it. A zero field of the upper
// group matches everything. The first rule that matches decides.
type Rule struct {
	Status []int  // one of them
	Header string // is in the answer, with this Value if that is not ""
	Value  string // compared without regard to case
	Field  string // has one of Values, as [Answer.Field] finds it
	Values []string

	End        operation.End // Confirmed, Refused or Lost
	Stored     bool          // a refusal: it is the stored answer of the key's first attempt
	Park       bool          // a Lost one: no repeat can bring more, a person looks first
	RetryAfter time.Duration // at least; the answer may ask for more
	Note       string
}

// Validate names what is missing or contradicts itself.
func (p Profile) Validate() error { return p.validate(p.Terms) }

func (p Profile) validate(t operation.Terms) error {
	if err := t.Validate(); err != nil {
		return fmt.Errorf("external: profile %q: %w", p.Name, err)
	}
	if p.KeyHeader != "" && p.KeyField != "" {
		return fmt.Errorf("external: profile %q: the key belongs in one place", p.Name)
	}
	for i, r := range p.Rules {
		if err := r.validate(); err != nil {
			return fmt.Errorf("external: profile %q: rule %d: %w", p.Name, i, err)
		}
	}
	return nil
}

func (r Rule) validate() error {
	switch {
	case r.End != operation.Confirmed && r.End != operation.Refused && r.End != operation.Lost:
		return fmt.Errorf("an answer does not prove %q", r.End)
	case len(r.Status) == 0 && r.Header == "" && r.Field == "":
		return errors.New("matches everything")
	case r.Value != "" && r.Header == "", (r.Field == "") != (len(r.Values) == 0):
		return errors.New("a value without a place, or a place without values")
	case r.Stored && r.End != operation.Refused:
		return errors.New("only a refusal can be a stored one")
	case r.Park && r.End != operation.Lost:
		return errors.New("only what is lost is parked")
	case r.RetryAfter < 0:
		return errors.New("a negative RetryAfter")
	}
	return nil
}

func (p Profile) method() string {
	if p.Method == "" {
		return http.MethodPost
	}
	return p.Method
}

// matches reports whether a looks like the rule. readable is false when all but
// the body fits and that does not decode: then nobody can say.
func (r Rule) matches(a Answer) (matches, readable bool) {
	if len(r.Status) > 0 && !slices.Contains(r.Status, a.Status) {
		return false, true
	}
	if r.Header != "" && !slices.ContainsFunc(a.Header.Values(r.Header), func(v string) bool {
		return r.Value == "" || strings.EqualFold(strings.TrimSpace(v), r.Value)
	}) {
		return false, true
	}
	if r.Field == "" {
		return true, true
	}
	values, readable := a.Field(r.Field)
	return slices.ContainsFunc(values, func(v string) bool { return slices.Contains(r.Values, v) }), readable
}
