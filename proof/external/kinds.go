package external

import (
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// epoch is the clock's start; it moves by ticks. A lease is one.
var epoch = time.Date(2026, time.March, 14, 9, 26, 53, 0, time.UTC)

const (
	tick   = 30 * time.Second
	margin = 1 // ticks a worker's pause may last
	window = 3 // ticks a provider that dedupes remembers
	proof  = 1 // ticks after which "not found" is final, where it ever is
	latest = 7 // the last tick there is
)

// pace makes everything due at once: the adversary is slow enough.
var pace = operation.Pace{First: 1, Most: 1}

func ticks(t time.Time) int {
	if t.IsZero() {
		return -1
	}
	return int(t.Sub(epoch) / tick)
}

func instant(n int) time.Time { return epoch.Add(time.Duration(n) * tick) }

// kind is a provider: what it promises, which is what it does.
type kind struct {
	name  string
	terms operation.Terms
	// stores: it keeps a refusal for the key as well, until it performs it.
	stores bool
	// nameless: its confirmations have no reference.
	nameless bool
}

var kinds = []kind{
	{name: "dedupes, stores refusals", stores: true,
		terms: operation.Terms{Dedupes: true, DedupesFor: window * tick, Margin: margin * tick}},
	{name: "dedupes what it performed",
		terms: operation.Terms{Dedupes: true, DedupesFor: window * tick, Margin: margin * tick}},
	{name: "dedupes and can be asked", stores: true,
		terms: operation.Terms{Dedupes: true, DedupesFor: window * tick, Margin: margin * tick, Queries: true}},
	{name: "can be asked", stores: true, terms: operation.Terms{Queries: true}},
	{name: "can be asked, not found is final",
		terms: operation.Terms{Queries: true, NotFoundFinalAfter: proof * tick, Margin: margin * tick}},
	{name: "promises nothing"},
	{name: "at least once", nameless: true, terms: operation.Terms{AtLeastOnce: true}},
}

// repeats reports whether a pause beyond the margin can make it act twice.
func (k kind) repeats() bool { return k.terms.Dedupes || k.terms.NotFoundFinalAfter > 0 }
