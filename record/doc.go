// Package record is the pure domain of Refrain and the kit of engine authors.
//
// A [Record] is the remembered action: its [Identity], the fingerprint of the
// request, its [State], its [Result] and its deadlines. [Decide] answers the
// one question everything turns on: given what was seen of a record, this
// request and this instant, what may happen now? It has no context, no clock
// and no store, so every row of the decision table is a table test.
//
// Engines bring the rest: they read a [Seen] from one snapshot, run the effect
// and write the record in one transaction, and let [Drive] do what is the same
// for all of them.
package record
