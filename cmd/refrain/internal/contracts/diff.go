package contracts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/refrain-dev/refrain"
)

// Class says what a change does to clients and to records that exist.
type Class string

const (
	// Compatible: a process with either contract may serve beside the other.
	Compatible Class = "compatible"
	// NeedsYes: it takes something away that clients may count on; somebody must agree.
	NeedsYes Class = "needs --yes"
	// Incompatible: it breaks the guarantee for requests that are under way.
	Incompatible Class = "incompatible"
)

// Change is one difference between two contracts of an operation.
type Change struct {
	Operation string `json:"operation"`
	Member    string `json:"member"` // of the published form
	From      string `json:"from"`
	To        string `json:"to"`
	Class     Class  `json:"class"`
	Why       string `json:"why"`
	WayOut    string `json:"way_out,omitempty"`
}

// Compare lists what differs, the worst first, then by operation and member.
func Compare(older, newer []Published) []Change {
	var changes []Change
	added := make(map[string]Published)
	for _, n := range newer {
		added[n.Operation] = n
	}
	var removed []Published
	for _, o := range older {
		if n, kept := added[o.Operation]; kept {
			delete(added, o.Operation)
			changes = append(changes, compare(o, n)...)
		} else {
			removed = append(removed, o)
		}
	}
	for _, o := range removed {
		changes = append(changes, gone(o, added))
	}
	for operation := range maps.Keys(added) {
		changes = append(changes, Change{operation, "operation", "", operation, Compatible,
			"a new operation has no records", ""})
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(rank(b.Class)-rank(a.Class), strings.Compare(a.Operation, b.Operation), strings.Compare(a.Member, b.Member))
	})
	return changes
}

func rank(c Class) int { return slices.Index([]Class{Compatible, NeedsYes, Incompatible}, c) }

// gone is an operation that is served no more. One that is new and the same in
// all but its id is taken for its new name, and leaves added.
func gone(o Published, added map[string]Published) Change {
	for _, operation := range slices.Sorted(maps.Keys(added)) {
		n := added[operation]
		renamed := n.Contract
		renamed.Operation = o.Operation
		if same(renamed, o.Contract) {
			delete(added, operation)
			return Change{o.Operation, "operation", o.Operation, operation, Incompatible,
				"the id is part of the identity: retries of the old one would start new actions",
				fmt.Sprintf("keep the id, or stop its processes and run: refrain contract rekey --operation %s --to %s", o.Operation, operation)}
		}
	}
	return Change{o.Operation, "operation", o.Operation, "", Incompatible,
		"nobody answers retries from its records any more",
		"serve it until its memory has ended; if it has another id now: refrain contract rekey --operation " + o.Operation + " --to ID"}
}

func same(a, b refrain.Contract) bool {
	x, errX := a.MarshalJSON()
	y, errY := b.MarshalJSON()
	return errX == nil && errY == nil && string(x) == string(y)
}

func compare(o, n Published) []Change {
	names := make(map[string]bool)
	for name := range o.Members {
		names[name] = true
	}
	for name := range n.Members {
		names[name] = true
	}
	var changes []Change
	for name := range names {
		if string(o.Members[name]) == string(n.Members[name]) {
			continue
		}
		c := Change{Operation: o.Operation, Member: name, From: plain(o.Members[name]), To: plain(n.Members[name])}
		if judge, known := rules[name]; known {
			v := judge(o.Contract, n.Contract)
			c.Class, c.Why, c.WayOut = v.class, v.why, v.wayOut
		} else {
			c.Class, c.Why, c.WayOut = NeedsYes, "this binary does not know the member", "compare with the refrain binary that publishes it"
		}
		changes = append(changes, c)
	}
	return changes
}

// plain writes a value for people: strings bare, lists with commas.
func plain(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	var list []any
	if json.Unmarshal(value, &list) == nil {
		parts := make([]string, len(list))
		for i, part := range list {
			parts[i] = fmt.Sprint(part)
		}
		return strings.Join(parts, ",")
	}
	return string(value)
}
