// Package refraintest holds what a service promises by using Refrain against
// the service itself: its own effects, its own endpoint, its own engine and
// schema. Two functions do nearly all of it.
//
// # An effect
//
// An effect may run more than once: after a lost race, a deadlock, or because a
// neighbour in its group failed. What it wrote with its tx is undone then;
// nothing else is. [Effect] finds what does not survive that:
//
//	func TestCreateOrder(t *testing.T) {
//		shop := openShop(t) // any engine, on a database of the test's own
//		call := refrain.Call{Contract: create, Scope: refrain.Tenant("north"), Key: "k1", Input: order}
//		refraintest.Effect(t, shop, call, refraintest.FromDo(
//			func(ctx context.Context, tx sqlite.Tx) (Order, error) { return insertOrder(ctx, tx, order) }))
//	}
//
// It runs the effect, rolls it back and runs it again: both must answer the same
// and send the same statements. Then it takes each statement in turn, the
// reading of rows included: once the statement fails, once the context ends
// before it; the effect must return an error both times. The last run commits,
// and a repeat of the call must not run. It reports
//
//   - state kept between runs: a counter, a cached row, a file;
//   - a trace outside the database, where EffectConfig.Probe can see it;
//   - an error that is swallowed, taken for "no row", turned into a panic or into
//     a recorded refusal;
//   - a statement on another context than the effect's;
//   - rows left open;
//   - a statement after the effect has returned, and goroutines that go on;
//   - a success that does not commit.
//
// Ids and times that rightly differ are replaced in EffectConfig.Normalise; the
// ref of the action is, without asking. An effect that takes its ids from ctx,
// by [refrain.CallFrom], or from the database needs no Normalise.
//
// An effect comes in three forms. That of Execute is passed as it is, that of
// [refrain.Do] through [FromDo], and a handler of [refrainhttp.Handle] through
// [FromHandler].
//
// Statements are visible where T is [refrain.SQLTx] or *sql.Conn; then the
// effect is given a handle of database/sql that asks before each statement. For
// a transaction type of your own, EffectConfig.Watch says how to see its
// statements. Without it the effect is run twice and committed, and the test's
// log says what was left out.
//
// # An endpoint
//
// [Endpoint] sends the requests of a client that lost its answer, of many such
// clients at once, of a client with somebody else's key, without one, with a
// malformed one, and so on through the decision table, to the handler as it is
// served: with its mux and the layers around the guard.
//
//	func TestOrdersEndpoint(t *testing.T) {
//		var clock refraintest.Clock
//		shop := openShop(t, sqlite.Options{Now: clock.Now})
//		refraintest.Endpoint(t, routes(shop), refraintest.EndpointConfig{
//			Path: "/orders", Body: `{"item":"tea"}`, OtherBody: `{"item":"coffee"}`,
//			Credential:      http.Header{"Authorization": {"Bearer north"}},
//			OtherCredential: http.Header{"Authorization": {"Bearer south"}},
//			Effects:         func() int { return count(t, shop, "orders") },
//			Contract:        createOrder,
//			Clock:           &clock,
//		})
//	}
//
// Effects are counted in the business data, never by what was answered. Each
// report begins with the name of the row that does not hold; a row that your
// service breaks on purpose goes into EndpointConfig.Skip by that name.
//
// # Time
//
// Deadlines follow the engine's clock. A [Clock] given to the engine's options
// and the guard stands still until the test moves it.
//
// Both functions need nothing but a testing.TB, send no mail and sleep no
// longer than a goroutine takes to end. They write to the database they are
// given: never give them one that matters.
package refraintest
