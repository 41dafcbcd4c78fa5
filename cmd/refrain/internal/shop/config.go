package shop

import (
	"net/http"
	"time"

	"github.com/refrain-dev/refrain"
)

// Config is what the demo's flags decide. A negative duration means none, zero
// the contract's default.
type Config struct {
	ReplayFor, RememberFor time.Duration
	Wait, Skew             time.Duration
	// Delay is how long an order takes after its insert.
	Delay time.Duration
	// MaxExecution bounds the handler of a quote; Lease is how long its claim is
	// held without a sign of its process.
	MaxExecution, Lease time.Duration
	// Async answers a repeat of a payment that is not settled with its state.
	Async bool
	// Database is the shop's as --db names it, for the commands the page shows.
	Database string
}

// The shop's guarded actions.
const (
	orderOperation   = "orders.create"
	quoteOperation   = "quotes.create"
	paymentOperation = "payments.create"
)

// Contracts are the policies of the shop's guarded actions.
func (c Config) Contracts() []refrain.Contract {
	return []refrain.Contract{c.Contract(), c.quotes(), c.payments()}
}

// Contract is the policy of orders.create, whose effect is in the database.
func (c Config) Contract() refrain.Contract {
	order := c.contract(orderOperation)
	order.MaxExecution = refrain.DefaultMaxExecution + max(c.Delay, 0)
	order.Ungrouped = c.Delay > 0 // neighbours must not wait for a slow effect
	return order
}

// quotes is the policy of quotes.create, whose handler commits for itself.
func (c Config) quotes() refrain.Contract {
	quote := c.contract(quoteOperation)
	quote.MaxExecution, quote.Lease = c.MaxExecution, c.Lease
	return quote
}

// payments is the policy of payments.create, whose outcome is a provider's.
func (c Config) payments() refrain.Contract {
	payment := c.contract(paymentOperation)
	payment.Async = c.Async
	return payment
}

func (c Config) contract(operation string) refrain.Contract {
	return refrain.Contract{
		Operation:   operation,
		Schema:      "1",
		ReplayFor:   c.ReplayFor,
		RememberFor: c.RememberFor,
		Skew:        c.Skew,
		Wait:        c.Wait,
		Methods:     []string{http.MethodPost},
	}
}
