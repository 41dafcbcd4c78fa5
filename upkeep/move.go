package upkeep

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
)

// Move rewrites the scopes of one rekey and remembers what they look like
// afterwards. It is the part every engine does alike.
type Move struct {
	Rekey
	declared string            // the identity version until now
	known    map[string]string // old scope → new scope
	shapes   [][]string        // dimension names the new scopes have
}

// NewMove begins a move of identities that were declared by the given version.
func NewMove(r Rekey, declared string) *Move {
	return &Move{Rekey: r, declared: declared, known: make(map[string]string)}
}

// optionalSubject is the identity version of a contract without dimensions of
// its own.
var optionalSubject = refrain.Contract{}.IdentityVersion()

// Scope is the scope of a record in its new form, which a contract must be able
// to have.
func (r *Move) Scope(scope string) (string, error) {
	if next, ok := r.known[scope]; ok {
		return next, nil
	}
	next, names, err := r.rewritten(scope)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(r.shapes, func(shape []string) bool { return slices.Equal(shape, names) }) {
		r.shapes = append(r.shapes, names)
	}
	r.known[scope] = next
	return next, nil
}

// Rewritten is a scope in its new form, not remembered: a fence may cover what
// no record has.
func (r *Move) Rewritten(scope string) (string, error) {
	next, _, err := r.rewritten(scope)
	return next, err
}

func (r *Move) rewritten(scope string) (string, []string, error) {
	parts, err := dimensions(scope)
	if err != nil {
		return "", nil, err
	}
	parts = slices.DeleteFunc(parts, func(part [2]string) bool { return slices.Contains(r.Drop, part[0]) })
	for _, added := range r.Add {
		if has(parts, added[0]) {
			return "", nil, fmt.Errorf("%w: the scope %s has a dimension %q already", ErrRekey, scope, added[0])
		}
		parts = append(parts, added)
	}
	if r.Identity != "" && r.Identity != optionalSubject {
		parts = ordered(parts, strings.Split(r.Identity, ","))
	}
	var next refrain.Scope
	var names []string
	for _, part := range parts {
		next = next.With(part[0], part[1])
		names = append(names, part[0])
	}
	return next.String(), names, nil
}

// dimensions reads the stored form of a scope.
func dimensions(scope string) (parts [][2]string, err error) {
	for part := range strings.SplitSeq(scope, "&") {
		name, value, ok := strings.Cut(part, "=")
		name, errName := url.QueryUnescape(name)
		value, errValue := url.QueryUnescape(value)
		if !ok || errName != nil || errValue != nil {
			return nil, fmt.Errorf("refrain: the scope %q cannot be read", scope)
		}
		parts = append(parts, [2]string{name, value})
	}
	return parts, nil
}

func has(parts [][2]string, name string) bool {
	return slices.ContainsFunc(parts, func(part [2]string) bool { return part[0] == name })
}

// ordered are the parts in the order of names; those without a place come last.
func ordered(parts [][2]string, names []string) [][2]string {
	place := func(part [2]string) int {
		if i := slices.Index(names, part[0]); i >= 0 {
			return i
		}
		return len(names)
	}
	slices.SortStableFunc(parts, func(a, b [2]string) int { return place(a) - place(b) })
	return parts
}

// Version is the identity version of the new scopes: the one that is wanted, if
// all of them fit it, or the one they have in common.
func (r *Move) Version() (string, error) {
	version := r.Identity
	if version == "" {
		version = r.common()
	}
	for _, shape := range r.shapes {
		if !fits(shape, version) {
			return "", fmt.Errorf("%w: a scope of %s does not fit the identity %q", ErrRekey, strings.Join(shape, ","), version)
		}
	}
	if version == optionalSubject {
		return version, valid(r.To, nil)
	}
	return version, valid(r.To, strings.Split(version, ","))
}

// common is the version of the new scopes where none is wanted: dimensions that
// no rekey touches stay what they are declared as.
func (r *Move) common() string {
	if len(r.Add) == 0 && len(r.Drop) == 0 {
		return r.declared
	}
	if len(r.shapes) > 0 {
		return strings.Join(r.shapes[0], ",")
	}
	names := slices.DeleteFunc(strings.Split(strings.ReplaceAll(r.declared, "[,subject]", ""), ","),
		func(name string) bool { return slices.Contains(r.Drop, name) })
	for _, added := range r.Add {
		names = append(names, added[0])
	}
	return strings.Join(names, ",")
}

func fits(shape []string, version string) bool {
	names := strings.Join(shape, ",")
	return names == version || version == optionalSubject && (names == "tenant" || names == "tenant,subject")
}

// valid checks that a contract can have the operation id and the dimensions.
func valid(operation string, dimensions []string) error {
	c := refrain.Contract{Operation: operation, Schema: "1", ReplayFor: time.Second, RememberFor: time.Second, Dimensions: dimensions}
	if err := c.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrRekey, err)
	}
	return nil
}

// addable checks a dimension that every scope is to get.
func addable(name, value string) error {
	if value == "" || len(value) > maxScopeValue {
		return fmt.Errorf("%w: dimension %q needs 1 to %d bytes", ErrRekey, name, maxScopeValue)
	}
	if name == "tenant" {
		return nil
	}
	return valid("any", []string{"tenant", name})
}

// maxScopeValue is what a scope may have in one dimension.
const maxScopeValue = 255
