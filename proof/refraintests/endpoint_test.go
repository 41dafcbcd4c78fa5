package refraintests

import (
	"context"
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/refraintest"
	"github.com/refrain-dev/refrain/sqlite"
)

// endpoint is a guarded service on SQLite and its description.
func endpoint(t *testing.T, guarded func(refrainhttp.Guard, *sqlite.DB) http.Handler) (http.Handler, refraintest.EndpointConfig) {
	clock := new(refraintest.Clock)
	db := openShop(t, clock.Now)
	revoked := new(atomic.Bool)
	guard := refrainhttp.Guard{Now: clock.Now, Principal: func(r *http.Request) (refrain.Scope, error) {
		tenant, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || revoked.Load() {
			return refrain.Scope{}, refrain.ErrUnauthenticated
		}
		return refrain.Tenant(tenant), nil
	}}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", guarded(guard, db))
	return mux, refraintest.EndpointConfig{
		Path: "/orders", Body: `{"item":"tea","amount":2}`, OtherBody: `{"item":"tea","amount":3}`,
		Credential:      http.Header{"Authorization": {"Bearer north"}},
		OtherCredential: http.Header{"Authorization": {"Bearer south"}},
		Revoke:          func() { revoked.Store(true) },
		Effects:         func() int { return orderRows(t, db) },
		Contract:        orders, Clock: clock,
	}
}

func handled(g refrainhttp.Guard, db *sqlite.DB) http.Handler {
	return refrainhttp.Handle(g, db, orders, create)
}

func TestEndpointHandled(t *testing.T) {
	t.Parallel()
	h, config := endpoint(t, handled)
	refraintest.Endpoint(t, h, config)
}

// TestEndpointWrapped: the handler commits for itself, to a database of its own.
func TestEndpointWrapped(t *testing.T) {
	t.Parallel()
	business, err := sql.Open("sqlite3", "file:"+filepath.Join(t.TempDir(), "business.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer business.Close()
	business.SetMaxOpenConns(1)
	if _, err := business.ExecContext(t.Context(), `CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT, refrain_ref TEXT)`); err != nil {
		t.Fatal(err)
	}
	h, config := endpoint(t, func(g refrainhttp.Guard, db *sqlite.DB) http.Handler {
		return refrainhttp.Wrap(g, db, orders, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, err := business.Conn(r.Context())
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			if err := create(w, r, conn); err != nil {
				panic(err)
			}
		}))
	})
	config.Effects = func() (n int) {
		if err := business.QueryRowContext(t.Context(), `SELECT count(*) FROM orders`).Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}
	refraintest.Endpoint(t, h, config)
}

// TestEndpointForgetful: the guard's records are kept in another file than the
// business rows, and get lost.
func TestEndpointForgetful(t *testing.T) {
	t.Parallel()
	h, config := endpoint(t, func(g refrainhttp.Guard, db *sqlite.DB) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			lost := openShop(t, nil)
			refrainhttp.Handle(g, lost, orders, func(w http.ResponseWriter, r *http.Request, _ sqlite.Tx) error {
				return db.Update(context.Background(), func(_ context.Context, tx sqlite.Tx) error { return create(w, r, tx) })
			}).ServeHTTP(w, r)
		})
	})
	config.Skip = []string{"duplicates at once"}
	r := &recorder{TB: t}
	refraintest.Endpoint(r, h, config)
	r.want(t, `refraintest: replay: the repeat's body is "order 2", the first one's "order 1"`)
}
