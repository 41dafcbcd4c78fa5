//go:build linux

package charges

import (
	"syscall"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/proof/engines"
)

// step is a moment in the life of a payment.
type step string

// The steps, in the order in which one payment meets them.
const (
	inAccept    step = "in the accepting transaction"
	inClaim     step = "before the attempt is durable" // written, not committed
	afterClaim  step = "after the attempt is durable"  // before the call
	beforeByte  step = "before the first byte"         // the gate has been passed
	afterAct    step = "after the provider acted"      // its answer is here and not stored
	inSettle    step = "in the settling transaction"   // written, not committed
	afterSettle step = "after the answer is stored"    // the client is not told
	nowhere     step = ""
)

// setting is what one worker is told.
type setting struct {
	Engine   string
	Place    engines.Place // of the records
	Addr     string        // the way to the server, "" for its own address
	Tenant   string
	Provider string // its name in the store
	Bank     string // its URL
	Kind     string
	Window   time.Duration // that the bank declares
	Lease    time.Duration
	Margin   time.Duration
	Budget   int
	Skew     time.Duration // of the store's clock, where that is the process's

	At     step // where Signal hits the worker, the first time it gets there
	Signal syscall.Signal
}

// The scale of a short run.
const (
	lease  = 400 * time.Millisecond
	margin = time.Second
	window = time.Minute // long enough that no trial but those about its end meets it
)

// kind is a sort of provider.
type kind struct {
	name    string
	dedupes bool // a repeated key does not act again, within the window
	queries bool
	final   bool // not found is final after the margin
}

var kinds = []kind{
	{name: "dedupes", dedupes: true},
	{name: "dedupes and can be asked", dedupes: true, queries: true},
	{name: "can be asked", queries: true},
	{name: "can be asked, not found is final", queries: true, final: true},
	{name: "promises nothing"},
}

func kindOf(name string) kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	panic("no kind " + name)
}

// profile is what the worker is told of its provider.
func (s setting) profile() external.Profile {
	k := kindOf(s.Kind)
	p := external.None()
	if k.dedupes {
		p = external.Keyed("Idempotency-Key", s.Window)
	} else {
		p.KeyHeader = "Idempotency-Key" // the bank notes it, and does not recognise it
		p.Rules = []external.Rule{{Status: []int{402}, End: operation.Refused}}
	}
	if k.final {
		p.Terms.NotFoundFinalAfter = s.Margin
	}
	p.Terms.Margin = s.Margin
	p.Reference = "id"
	return p
}

func (s setting) contract() refrain.Contract {
	return refrain.Contract{
		Operation: "payments.create", Schema: "1", ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour, Wait: 100 * time.Millisecond,
	}
}

// patient is how long an answer is waited for: shorter than a pause that outlives
// the window, which must not cost the answer all the same.
func (s setting) patient() time.Duration { return 4 * s.Lease }

func (s setting) now() func() time.Time {
	if s.Skew == 0 {
		return nil
	}
	return func() time.Time { return time.Now().Add(s.Skew) }
}
