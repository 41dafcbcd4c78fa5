package refraintest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
)

// recorder is a testing.TB that keeps what is reported to it.
type recorder struct {
	testing.TB
	mu      sync.Mutex
	reports []string
	notes   []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// want demands that one report has the text; "" demands that there is none.
func (r *recorder) want(t *testing.T, text string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	all := strings.Join(r.reports, "\n")
	if text == "" && all != "" || !strings.Contains(all, text) {
		t.Errorf("reported %q, want %q", r.reports, text)
	}
}

var orders = refrain.Contract{
	Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour,
}

func call() refrain.Call {
	return refrain.Call{Contract: orders, Scope: refrain.Tenant("north"), Key: "k", Input: []byte("one")}
}

// rows is a transaction as an application may have its own: statements with
// contexts over a memstore.
type rows interface {
	Put(ctx context.Context, table, key, value string) error
	Get(ctx context.Context, table, key string) (value string, ok bool, err error)
}

type memoryRows struct{ tx memstore.Tx }

func (m memoryRows) Put(ctx context.Context, table, key, value string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.tx.Put(table, key, []byte(value))
}

func (m memoryRows) Get(ctx context.Context, table, key string) (string, bool, error) {
	if err := ctx.Err(); err != nil {
		return "", false, err
	}
	value, ok, err := m.tx.Get(table, key)
	return string(value), ok, err
}

// shop executes effects on rows.
type shop struct{ db *memstore.DB }

func newShop() shop { return shop{memstore.New(memstore.Options{})} }

func (s shop) Execute(ctx context.Context, call refrain.Call, effect func(context.Context, rows) (refrain.Result, error)) (refrain.Outcome, error) {
	return s.db.Execute(ctx, call, func(ctx context.Context, tx memstore.Tx) (refrain.Result, error) {
		return effect(ctx, memoryRows{tx})
	})
}

// watched tells before of each statement.
type watched struct {
	rows
	before func(context.Context, string) error
}

func watch(tx rows, before func(context.Context, string) error) rows { return watched{tx, before} }

func (w watched) Put(ctx context.Context, table, key, value string) error {
	if err := w.before(ctx, "put "+table); err != nil {
		return err
	}
	return w.rows.Put(ctx, table, key, value)
}

func (w watched) Get(ctx context.Context, table, key string) (string, bool, error) {
	if err := w.before(ctx, "get "+table); err != nil {
		return "", false, err
	}
	return w.rows.Get(ctx, table, key)
}
