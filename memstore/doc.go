// Package memstore is the reference engine: everything in memory, gone with
// the process. It is what the other engines are compared with, and what tests
// of guarded handlers run on.
//
//	db := memstore.New(memstore.Options{})
//	out, err := db.Execute(ctx, call, func(ctx context.Context, tx memstore.Tx) (refrain.Result, error) {
//		return refrain.Result{Body: []byte("ok")}, tx.Put("orders", "1", []byte("two apples"))
//	})
//
// One transaction writes at a time; the others queue under their contexts.
// Lookups read the committed rows and never wait for a running effect. A value
// given to the store or taken from it is a copy.
package memstore
