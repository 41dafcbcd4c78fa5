// Command orders is a small order service whose POST is safe to retry.
//
//	go run ./orders
//	curl -i localhost:8081/orders -H 'Authorization: Bearer north' -H 'Idempotency-Key: k1' -d '{"item":"tea"}'
//
// Send the request again: the same answer comes back and no second order exists.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/sqlite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "localhost:8081", "orders.db"); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, addr, path string) error {
	shop, err := open(ctx, path, time.Now)
	if err != nil {
		return err
	}
	defer shop.Close(context.WithoutCancel(ctx))
	server := &http.Server{Addr: addr, Handler: routes(shop, time.Now), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.WithoutCancel(ctx)) })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// open makes the tables. A service in production leaves that to its deployment:
// a missing table is an alarm, not a fresh start.
func open(ctx context.Context, path string, now func() time.Time) (*sqlite.DB, error) {
	shop, err := sqlite.Open(path, sqlite.Options{Observer: logger{slog.Default()}, Now: now})
	if err != nil {
		return nil, err
	}
	if err := shop.Migrate(ctx); err != nil {
		return nil, err
	}
	if err := shop.Setup(ctx, `CREATE TABLE IF NOT EXISTS orders (
		id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, item TEXT NOT NULL, refrain_ref TEXT NOT NULL UNIQUE)`); err != nil {
		return nil, err
	}
	return shop, shop.Register(ctx, createOrder)
}

var createOrder = refrain.Contract{
	Operation: "orders.create", Schema: "1",
	ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour,
}

func routes(shop *sqlite.DB, now func() time.Time) http.Handler {
	guard := refrainhttp.Guard{Principal: principal, StatusPath: "/operations", Observer: logger{slog.Default()}, Now: now}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", refrainhttp.Handle(guard, shop, createOrder, create))
	status := refrainhttp.Status(guard, shop, createOrder)
	mux.Handle("/operations", status)
	mux.Handle("/operations/", status)
	mux.Handle(refrainhttp.WellKnownPath, refrainhttp.WellKnown(guard, shop, createOrder))
	return mux
}

// logger tells why a call failed; a client is only told what it may do next.
type logger struct{ *slog.Logger }

func (l logger) Observe(ctx context.Context, e refrain.Event) {
	level := slog.LevelDebug
	if e.Err != nil {
		level = slog.LevelWarn
	}
	l.Log(ctx, level, "refrain", "operation", e.Operation, "row", e.Row, "problem", e.Problem,
		"replayed", e.Replayed, "ref", e.Ref, "took", e.Took, "error", e.Err)
}

// principal stands for real authentication: the token names the tenant.
func principal(r *http.Request) (refrain.Scope, error) {
	tenant, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || tenant == "" {
		return refrain.Scope{}, refrain.ErrUnauthenticated
	}
	return refrain.Tenant(tenant), nil
}

// create is an ordinary handler with a transaction.
func create(w http.ResponseWriter, r *http.Request, tx sqlite.Tx) error {
	var order struct {
		Item string `json:"item"`
	}
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil || order.Item == "" {
		http.Error(w, "an order needs an item", http.StatusBadRequest) // nothing written: the key stays free
		return nil
	}
	id, err := insert(r.Context(), tx, order.Item)
	if err != nil {
		return err
	}
	w.Header().Set("Location", fmt.Sprintf("/orders/%d", id))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	return json.NewEncoder(w).Encode(map[string]any{"id": id, "item": order.Item})
}

// insert is the effect. The ref on the row, with its unique index, lets the
// business data itself enforce at most one.
func insert(ctx context.Context, tx sqlite.Tx, item string) (int64, error) {
	call, _ := refrain.CallFrom(ctx)
	res, err := tx.ExecContext(ctx, `INSERT INTO orders (tenant, item, refrain_ref) VALUES (?, ?, ?)`,
		call.Scope.Get("tenant"), item, call.Ref)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}
