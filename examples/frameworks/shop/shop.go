// Package shop is the service behind the examples: what it does is the same
// under every framework.
package shop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/sqlite"
)

// Shop has a database of its own, where orders and Refrain's records are, and a
// payment provider outside it.
type Shop struct {
	DB        *sqlite.DB
	Principal func(*http.Request) (refrain.Scope, error)
	// MaxExecution bounds a wrapped handler; 0 is Refrain's default.
	MaxExecution time.Duration
	// Pay asks the provider for a charge or a refund and returns its receipt.
	// Once it is asked nobody can take it back.
	Pay func(ctx context.Context, account, order string) (receipt string, err error)
	// Export sends the account's bookings line by line.
	Export func(ctx context.Context, account string, emit func(line string) error) error
}

// ErrDeclined is the provider's refusal: 402 under every framework.
var ErrDeclined = errors.New("the provider declined")

// The operations. The first three reach outside and are for Wrap, the last one
// writes to the shop's own database and is for Handle.
var (
	Charges = contract("charges.create")
	Refunds = contract("refunds.create")
	Exports = contract("exports.create")
	Orders  = contract("orders.create")
)

func contract(operation string) refrain.Contract {
	return refrain.Contract{
		Operation: operation, Schema: "1",
		ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour,
	}
}

// Open opens the database and makes its tables. A service in production leaves
// that to its deployment.
func Open(ctx context.Context, path string) (*Shop, error) {
	db, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx); err != nil {
		return nil, err
	}
	if err := db.Setup(ctx, `CREATE TABLE IF NOT EXISTS orders (
		id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, account TEXT NOT NULL, item TEXT NOT NULL, refrain_ref TEXT NOT NULL UNIQUE)`); err != nil {
		return nil, err
	}
	s := &Shop{DB: db, Principal: principal, Pay: pay, Export: export}
	return s, db.Register(ctx, Charges, Refunds, Exports, Orders)
}

// principal stands for real authentication: the token names the tenant.
func principal(r *http.Request) (refrain.Scope, error) {
	tenant, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || tenant == "" {
		return refrain.Scope{}, refrain.ErrUnauthenticated
	}
	return refrain.Tenant(tenant), nil
}

func pay(_ context.Context, account, order string) (string, error) {
	return fmt.Sprintf("account %s paid for %s at %v\n", account, order, time.Now()), nil
}

func export(_ context.Context, account string, emit func(string) error) error {
	return errors.Join(emit("account "+account+"\n"), emit("no bookings\n"))
}

// Wrap is the middleware for handlers that reach outside.
func (s *Shop) Wrap(c refrain.Contract) func(http.Handler) http.Handler {
	c.MaxExecution = s.MaxExecution
	return func(next http.Handler) http.Handler {
		return refrainhttp.Wrap(refrainhttp.Guard{Principal: s.Principal}, s.DB, c, next)
	}
}

// CreateOrder is the handler that writes in a transaction; account finds the
// account in the request, as the router left it.
func (s *Shop) CreateOrder(account func(*http.Request) string) http.Handler {
	return refrainhttp.Handle(refrainhttp.Guard{Principal: s.Principal}, s.DB, Orders,
		func(w http.ResponseWriter, r *http.Request, tx sqlite.Tx) error {
			item, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			call, _ := refrain.CallFrom(r.Context())
			res, err := tx.ExecContext(r.Context(), `INSERT INTO orders (tenant, account, item, refrain_ref) VALUES (?, ?, ?, ?)`,
				call.Scope.Get("tenant"), account(r), string(item), call.Ref)
			if err != nil {
				return err
			}
			id, err := res.LastInsertId()
			if err != nil {
				return err
			}
			w.Header().Set("Location", fmt.Sprintf("/orders/%d", id))
			w.WriteHeader(http.StatusCreated)
			_, err = fmt.Fprintf(w, "order %d of account %s\n", id, account(r))
			return err
		})
}

// PathValue finds the account where a router, or its adapter, sets path values.
func PathValue(r *http.Request) string { return r.PathValue("account") }
