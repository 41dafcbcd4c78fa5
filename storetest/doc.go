// Package storetest is the contract every engine keeps: one suite, a file per
// property, run by the engines' own tests.
//
//	func TestContract(t *testing.T) {
//		storetest.Run(t, func(t *testing.T, env storetest.Env) *storetest.Harness[Tx] {
//			db := …                        // empty, with Now: env.Now
//			return &storetest.Harness[Tx]{Exec: db, Store: db, …}
//		}, storetest.Features{})
//	}
//
// An effect is a row written through [Harness.Write] and counted by
// [Harness.Effects], which reads the engine's data by other means: that count
// decides, not what the engine says of itself. After each property the suite
// checks that every identity had at most one effect per memory, that every
// effect has its record and that every final record has its result.
//
// The file cases.md maps the public bug reports the suite learned from to the
// tests that hold them.
package storetest
