// Package refrain makes retried requests safe: repeat the answer, refrain from
// repeating the effect.
//
// An [Executor] runs an effect and commits its record in the same database
// transaction. For one identity (scope, operation, key), one rule of request
// equivalence, one published memory and one execution path, repeated matching
// requests share one record instead of starting the action again.
//
//	shop, err := sqlite.Open("shop.db")
//	create := refrain.Contract{
//		Operation: "orders.create", Schema: "1",
//		ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour,
//	}
//	out, err := refrain.Do(ctx, shop,
//		refrain.Call{Contract: create, Scope: refrain.Tenant("north"), Key: key, Input: order},
//		func(ctx context.Context, tx sqlite.Tx) (Order, error) { … })
//
// Package refrainhttp guards net/http handlers with the same contracts;
// packages sqlite, postgres, mysql and memstore are engines; package record is the pure domain.
package refrain
