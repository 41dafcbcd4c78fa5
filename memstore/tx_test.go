package memstore_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
)

var contract = refrain.Contract{
	Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour,
}

func call(key string) refrain.Call {
	return refrain.Call{Contract: contract, Scope: refrain.Tenant("north"), Key: key, Input: []byte("one")}
}

// writes is an effect of one row.
func writes(key string) func(context.Context, memstore.Tx) (refrain.Result, error) {
	return func(_ context.Context, tx memstore.Tx) (refrain.Result, error) {
		return refrain.Result{Body: []byte(key)}, tx.Put("orders", key, []byte(key))
	}
}

func keys(db *memstore.DB) []string {
	return slices.Collect(maps.Keys(maps.Collect(db.Scan("orders"))))
}

func TestTxSeesItsOwnWrites(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{})
	err := db.Update(t.Context(), func(tx memstore.Tx) error {
		return errors.Join(tx.Put("orders", "a", []byte("1")), tx.Put("orders", "b", []byte("2")), tx.Put("other", "a", nil))
	})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	value := []byte("3")
	if err := errors.Join(tx.Put("orders", "c", value), tx.Delete("orders", "a"), tx.Put("orders", "b", []byte("22")), tx.Delete("orders", "none")); err != nil {
		t.Fatal(err)
	}
	value[0] = 'x'
	rows, err := tx.Scan("orders")
	if err != nil {
		t.Fatal(err)
	}
	var mine []string
	for key, value := range rows {
		mine = append(mine, key+"="+string(value))
	}
	if want := []string{"b=22", "c=3"}; !slices.Equal(mine, want) {
		t.Errorf("the transaction scans %v, want %v", mine, want)
	}
	if _, ok, err := tx.Get("orders", "a"); ok || err != nil {
		t.Errorf("Get of a deleted row: %t, %v", ok, err)
	}
	if got := slices.Sorted(slices.Values(keys(db))); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("before COMMIT others scan %v", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if v, ok := db.Get("orders", "c"); !ok || string(v) != "3" {
		t.Errorf("Get(c) = %q, %t", v, ok)
	}
	if got := slices.Sorted(slices.Values(keys(db))); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("after COMMIT others scan %v", got)
	}
	for name, err := range map[string]error{"Put": tx.Put("orders", "d", nil), "Commit": tx.Commit(), "Rollback": tx.Rollback()} {
		if !errors.Is(err, memstore.ErrDone) {
			t.Errorf("%s after COMMIT: %v, want ErrDone", name, err)
		}
	}
}

func TestTxRollback(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{})
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tx.Put("orders", "a", nil), tx.Rollback()); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("no")
	err = db.Update(t.Context(), func(tx memstore.Tx) error { return errors.Join(tx.Put("orders", "b", nil), failed) })
	if !errors.Is(err, failed) || len(keys(db)) != 0 {
		t.Errorf("Update: %v, rows %v; want the error and no row", err, keys(db))
	}
}

// TestTxPoisoned: after a failed statement nothing else succeeds, COMMIT
// included, except where an effect's savepoint took the failure back.
func TestTxPoisoned(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{})
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecuteIn(t.Context(), tx, call("k"), func(_ context.Context, tx memstore.Tx) (refrain.Result, error) {
		_ = tx.Put("", "swallowed", nil)
		return refrain.Result{}, nil
	}); !errors.Is(err, memstore.ErrNoTable) || !errors.Is(err, refrain.ErrEffectFailed) {
		t.Errorf("ExecuteIn of an effect that swallowed an error: %v", err)
	}
	if err := tx.Put("orders", "a", nil); err != nil {
		t.Errorf("the caller's transaction after the effect's failure: %v", err)
	}
	if err := tx.Put("", "k", nil); !errors.Is(err, memstore.ErrNoTable) {
		t.Errorf("Put without a table: %v", err)
	}
	if err := tx.Put("orders", "b", nil); !errors.Is(err, memstore.ErrNoTable) {
		t.Errorf("Put after a failed statement: %v", err)
	}
	if _, err := db.ExecuteIn(t.Context(), tx, call("k"), writes("c")); !errors.Is(err, memstore.ErrNoTable) {
		t.Errorf("ExecuteIn after a failed statement: %v", err)
	}
	if err := tx.Commit(); !errors.Is(err, memstore.ErrNoTable) {
		t.Errorf("Commit after a failed statement: %v", err)
	}
	if len(keys(db)) != 0 {
		t.Errorf("rows %v were committed", keys(db))
	}
}

// TestTxIsNotTheEffectsToEnd also covers Update, which commits by itself.
func TestTxIsNotTheEffectsToEnd(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{})
	owned := func(tx memstore.Tx) error {
		for _, err := range []error{tx.Commit(), tx.Rollback()} {
			if !errors.Is(err, refrain.ErrOwned) {
				t.Errorf("ending an owned transaction: %v, want ErrOwned", err)
			}
		}
		return tx.Put("orders", "a", nil)
	}
	if err := db.Update(t.Context(), owned); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Execute(t.Context(), call("k"), func(_ context.Context, tx memstore.Tx) (refrain.Result, error) {
		return refrain.Result{}, owned(tx)
	}); err != nil {
		t.Fatal(err)
	}
}

// TestTxEndsWithItsEffect although the caller's transaction goes on.
func TestTxEndsWithItsEffect(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{})
	err := db.Update(t.Context(), func(tx memstore.Tx) error {
		var kept memstore.Tx
		_, err := db.ExecuteIn(t.Context(), tx, call("k"), func(ctx context.Context, tx memstore.Tx) (refrain.Result, error) {
			kept = tx
			return writes("a")(ctx, tx)
		})
		if late := kept.Put("orders", "late", nil); !errors.Is(late, memstore.ErrDone) {
			t.Errorf("Put after the effect: %v, want ErrDone", late)
		}
		return err
	})
	if got := keys(db); err != nil || !slices.Equal(got, []string{"a"}) {
		t.Errorf("Update: %v, rows %v", err, got)
	}
}

func TestExecuteInRefusesForeignTransactions(t *testing.T) {
	t.Parallel()
	db, other := memstore.New(memstore.Options{}), memstore.New(memstore.Options{})
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecuteIn(t.Context(), tx, call("k"), writes("a")); err == nil {
		t.Error("ExecuteIn took another store's transaction")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.ExecuteIn(t.Context(), tx, call("k"), writes("a")); !errors.Is(err, memstore.ErrDone) {
		t.Errorf("ExecuteIn in an ended transaction: %v, want ErrDone", err)
	}
	// An effect cannot get round ErrNested by leaving its context behind.
	if _, err := db.Execute(t.Context(), call("outer"), func(_ context.Context, tx memstore.Tx) (refrain.Result, error) {
		_, err := db.ExecuteIn(context.Background(), tx, call("inner"), writes("a"))
		if !errors.Is(err, refrain.ErrNested) {
			t.Errorf("ExecuteIn in an effect: %v, want ErrNested", err)
		}
		return refrain.Result{}, nil
	}); err != nil {
		t.Fatal(err)
	}
}
