// Package external walks every interleaving, to a bounded depth, of the parties
// around one external operation: two workers that may pause anywhere, also
// between their last look at the clock and the arrival of their first byte, late
// answers, questions whose answers come late, a person, a clock, and a provider
// of each kind. What a worker decides and what it writes are two steps; a write
// whose operation has changed meanwhile fails and is decided again, as in a store.
package external
