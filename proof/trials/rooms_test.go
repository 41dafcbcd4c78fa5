package trials

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/refrain-dev/refrain/proof/engines"
)

// past runs statements past the engine, in one transaction.
func past(t testing.TB, shop *engines.Shop, statements ...string) {
	t.Helper()
	tx, end := beside(t, shop)
	for _, statement := range statements {
		if _, err := tx.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	end()
}

// beside is a transaction of somebody else; end rolls it back if it is open.
func beside(t testing.TB, shop *engines.Shop) (tx *sql.Tx, end func()) {
	t.Helper()
	name := "pgx"
	if shop.MySQL {
		name = "mysql"
	}
	handle, err := sql.Open(name, shop.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	if tx, err = handle.BeginTx(context.Background(), nil); err != nil {
		t.Fatal(errors.Join(err, handle.Close()))
	}
	end = func() { _ = tx.Rollback(); _ = handle.Close() }
	t.Cleanup(end)
	return tx, end
}

// eachServer runs a trial over every engine on a server, in a shop of its own.
func eachServer(t *testing.T, trial func(t *testing.T, shop *engines.Shop)) {
	for _, kind := range onServers {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			trial(t, engines.NewShop(t, kind, engines.Shared(t, kind)))
		})
	}
}

// emptied is the shop as it was at first. Trials that open many share one: a
// schema takes longer to make than most of them take.
func emptied(t testing.TB, shop *engines.Shop) *engines.Shop {
	t.Helper()
	var all []string
	for _, name := range []string{"operation", "record", "once", "fence", "allow", "review", "audit", "orders"} {
		all = append(all, "DELETE FROM "+table(shop, name))
	}
	all = append(all, "DELETE FROM "+table(shop, "span")+" WHERE last <> ''") // one is there from the beginning
	past(t, shop, all...)
	return shop
}

// table is one of Refrain's tables or that of orders.
func table(shop *engines.Shop, name string) string {
	if shop.MySQL && name != "orders" {
		name = "refrain_" + name
	}
	return shop.Table(name)
}

// clerk is the shop for a user who may not add to its table of records until he
// is allowed to.
func clerk(t *testing.T, shop *engines.Shop) (his *engines.Shop, allow, forbid func()) {
	t.Helper()
	place := shop.Place().Name
	name := place + "_c"
	to, all := name, "ALL TABLES IN SCHEMA "+place
	if shop.MySQL {
		to, all = name+"@'%'", place+".*"
		past(t, shop, "CREATE USER "+to)
		t.Cleanup(func() { past(t, shop, "DROP USER "+to) })
	} else {
		past(t, shop, "CREATE ROLE "+name+" LOGIN", "GRANT USAGE ON SCHEMA "+place+" TO "+name)
		t.Cleanup(func() { past(t, shop, "DROP OWNED BY "+name, "DROP ROLE "+name) })
	}
	past(t, shop, "GRANT SELECT, UPDATE, DELETE ON "+all+" TO "+to, "GRANT INSERT ON "+table(shop, "orders")+" TO "+to, "GRANT INSERT ON "+table(shop, "operation")+" TO "+to)
	return shop.As(name),
		func() { t.Helper(); past(t, shop, "GRANT INSERT ON "+table(shop, "record")+" TO "+to) },
		func() { t.Helper(); past(t, shop, "REVOKE INSERT ON "+table(shop, "record")+" FROM "+to) }
}
