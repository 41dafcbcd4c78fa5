// Package refrainhttp guards net/http handlers with a contract: repeat the
// answer, refrain from repeating the effect.
//
//	guard := refrainhttp.Guard{Principal: principalFromToken}
//	mux.Handle("POST /orders", refrainhttp.Handle(guard, shop, create,
//		func(w http.ResponseWriter, r *http.Request, tx sqlite.Tx) error { … }))
//
// [Handle] gives the handler a transaction. What the handler writes with it,
// the record and the answer commit together, or none of them does, and the
// answer leaves only after COMMIT. A handler that commits for itself belongs
// under [Wrap], which claims the key first and never runs again what may have
// happened; docs/wrap.md tells which of the two a route needs.
//
// A guarded request is authenticated, authorised, its key and its body are
// checked, and only then is the record looked up; a replay takes the same way.
//
// Under Handle the handler may run again after a serialization failure, each
// time with a rewound body and an empty answer; whatever it does besides tx is not
// undone. Its context outlives the client and ends at Contract.MaxExecution.
//
// [Status] lets a client ask instead of re-sending, [WellKnown] publishes the
// contracts. docs/http.md is the whole contract with clients.
package refrainhttp
