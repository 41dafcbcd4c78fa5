package upkeep

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/refrain-dev/refrain"
)

// Rekey says how the identities of one operation change.
type Rekey struct {
	Operation string // whose records are rewritten
	To        string // its id afterwards; "" keeps it

	// Drop are the scope dimensions every record loses, Add those it gains, a
	// name and its value each, behind the others. Dropping and adding one name
	// changes its value.
	Drop []string
	Add  [][2]string
	// Identity is the identity version afterwards, see
	// [refrain.Contract.IdentityVersion]; it also orders the dimensions. "" is
	// what the rewritten scopes have in common.
	Identity string

	By, Reason string // for the line of audit
}

// Rekeyed is what a rekey did.
type Rekeyed struct {
	Operation string `json:"operation"`
	Identity  string `json:"identity"`
	Records   int    `json:"records"`
	Reviews   int    `json:"reviews"`
	Allows    int    `json:"allows"`
	Fences    int    `json:"fences"`
}

// RekeyError is a refusal to move records, by their refs. Nothing was changed.
type RekeyError struct {
	// Collisions are pairs of records that would become one.
	Collisions [][2]string
	// Live are records with an attempt under way, whose owner would not find
	// them again.
	Live []string
}

func (e *RekeyError) Error() string {
	if len(e.Live) > 0 {
		return fmt.Sprintf("refrain: %d records have an attempt under way: %s", len(e.Live), shortened(e.Live))
	}
	pairs := make([]string, len(e.Collisions))
	for i, pair := range e.Collisions {
		pairs[i] = pair[0] + " and " + pair[1]
	}
	return fmt.Sprintf("refrain: %d pairs of records would become one: %s", len(pairs), shortened(pairs))
}

// ErrRekey is wrapped by what is wrong with a [Rekey] itself: identities that
// make no contract.
var ErrRekey = errors.New("refrain: the rekey cannot be done")

// shortened keeps a message readable; the error has the whole list.
func shortened(list []string) string {
	const shown = 10
	if len(list) > shown {
		return strings.Join(list[:shown], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}

// Checked is r with its defaults, or what is wrong with it: [ErrRekey].
func (r Rekey) Checked() (Rekey, error) {
	if r.To == "" {
		r.To = r.Operation
	}
	if err := Signed(r.By, r.Reason); err != nil {
		return Rekey{}, fmt.Errorf("%w: %w", ErrRekey, err)
	}
	for _, added := range r.Add {
		if err := addable(added[0], added[1]); err != nil {
			return Rekey{}, err
		}
	}
	if r.To == r.Operation && len(r.Add) == 0 && len(r.Drop) == 0 && r.Identity == "" {
		return Rekey{}, fmt.Errorf("%w: it changes nothing", ErrRekey)
	}
	return r, nil
}

// Republished is a stored contract under another identity.
func Republished(stored, operation, identity string) (string, error) {
	var c refrain.Contract
	if err := json.Unmarshal([]byte(stored), &c); err != nil {
		return "", fmt.Errorf("refrain: the stored contract: %w", err)
	}
	c.Operation, c.Dimensions = operation, nil
	if identity != (refrain.Contract{}).IdentityVersion() {
		c.Dimensions = strings.Split(identity, ",")
	}
	published, err := c.MarshalJSON()
	return string(published), err
}
