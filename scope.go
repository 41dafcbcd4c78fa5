package refrain

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Scope is the set of verified dimensions a caller acts in, in order. It comes
// from authentication, never from the body. Build one with [Tenant].
//
// A dimension value is a stable account or client id, never a token, a key id
// or a session: a rotated credential must not turn a retry into a new action.
type Scope struct {
	encoded string
}

// Limits of a scope.
const (
	maxScopeValue = 255 // bytes of one value
	maxDimensions = 8
)

// Tenant starts a scope with the tenant dimension.
func Tenant(id string) Scope { return Scope{}.With("tenant", id) }

// Subject adds the subject dimension: keys are then private to this user.
func (s Scope) Subject(id string) Scope { return s.With("subject", id) }

// With adds a dimension the contract declares, such as a region.
func (s Scope) With(name, value string) Scope {
	part := url.QueryEscape(name) + "=" + url.QueryEscape(value)
	if s.encoded != "" {
		part = s.encoded + "&" + part
	}
	return Scope{encoded: part}
}

// String is the injective encoding that is stored and compared: escaped
// name=value pairs in order. Two scopes are the same exactly if it is.
func (s Scope) String() string { return s.encoded }

// Get returns the value of a dimension, "" when the scope has none of that name.
func (s Scope) Get(name string) string {
	for n, v := range s.all() {
		if n == name {
			return v
		}
	}
	return ""
}

func (s Scope) all() func(yield func(name, value string) bool) {
	return func(yield func(string, string) bool) {
		for part := range strings.SplitSeq(s.encoded, "&") {
			name, value, _ := strings.Cut(part, "=")
			name, _ = url.QueryUnescape(name)
			value, _ = url.QueryUnescape(value)
			if !yield(name, value) {
				return
			}
		}
	}
}

// check reports a scope that cannot be part of an identity under the declared
// dimensions; nil dimensions mean tenant and, if the caller has one, subject.
func (s Scope) check(dimensions []string) error {
	if s.encoded == "" {
		return errors.New("refrain: the scope is empty")
	}
	var names []string
	for name, value := range s.all() {
		if value == "" || len(value) > maxScopeValue {
			return fmt.Errorf("refrain: scope dimension %q needs 1 to %d bytes", name, maxScopeValue)
		}
		names = append(names, name)
	}
	want := dimensions
	if want == nil {
		want = []string{"tenant"}
		if len(names) == 2 {
			want = []string{"tenant", "subject"}
		}
	}
	if !slices.Equal(names, want) {
		return fmt.Errorf("refrain: the scope has dimensions %q, the contract declares %q", names, want)
	}
	return nil
}
