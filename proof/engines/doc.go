// Package engines gives the fault proofs the engines on servers as one: a shop
// whose orders are rows of a table beside the records, the ways to open an
// engine on it, and a walk over both tables past the engine.
package engines
