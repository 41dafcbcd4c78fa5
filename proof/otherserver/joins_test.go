//go:build linux

package otherserver

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/refrain-dev/refrain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// opened is a handle, closed in Cleanup.
func opened(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	handle, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	return handle
}

type (
	effect    = func(context.Context, refrain.SQLTx) (refrain.Result, error)
	executeIn = func(context.Context, refrain.SQLTx, refrain.Call, effect) (refrain.Outcome, error)
)

// joins demands what becomes of an action in a transaction of the handle's: it is
// executed, or refused with want and without its effect.
func joins(t *testing.T, in executeIn, handle *sql.DB, key string, want error) {
	t.Helper()
	tx, err := handle.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	defer tx.Rollback()
	call := refrain.Call{
		Contract: refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour},
		Scope:    refrain.Tenant("north"), Key: key, Input: []byte(key),
	}
	ran := false
	_, err = in(t.Context(), tx, call, func(context.Context, refrain.SQLTx) (refrain.Result, error) {
		ran = true
		return refrain.Result{}, nil
	})
	if !errors.Is(err, want) || ran != (want == nil) {
		t.Errorf("%s: %v, ran=%t; want %v", key, err, ran, want)
	}
	if err := tx.Commit(); err != nil {
		t.Errorf("%s: %v", key, err)
	}
}
