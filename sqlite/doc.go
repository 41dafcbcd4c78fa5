// Package sqlite is the embedded engine: an effect and its record commit in one
// SQLite transaction.
//
//	shop, err := sqlite.Open("shop.db", sqlite.Options{})
//	err = shop.Migrate(ctx)
//	out, err := refrain.Do(ctx, shop, call, func(ctx context.Context, tx sqlite.Tx) (Order, error) { … })
//
// [Open] owns its connections: one writer that commits the calls of many
// callers as a group, and a pool of readers. It needs no C compiler. [New]
// works on a database handle of the application's own, with any SQLite driver,
// one call per transaction and without the guards that only a connection of
// ours can give.
//
// Several processes may open one file. An acknowledged effect survives a crash
// and a power loss (WAL, synchronous=FULL); it does not survive the loss of the
// disk, and a copy made by asynchronous replication may lack it.
package sqlite
