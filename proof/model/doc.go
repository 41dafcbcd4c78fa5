// Package model walks every interleaving, to a bounded depth, of the parties
// around one record that is committed before its effect: owners, a reader, an
// operator and a clock that also steps back. Its steps are those the store has:
// a change sees and writes at one instant, an owner acts on the copy it was
// given, a reader on what it looked up before.
package model
