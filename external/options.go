package external

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/refrain-dev/refrain/operation"
)

// Options configure a [Runner]. Providers is required; 0 means the default.
type Options struct {
	// Providers by the name that steps and stored operations know them by, 1 to
	// 64 bytes of UTF-8 without a NUL. Operations of other providers are left to other processes.
	Providers map[string]Provider
	// Lease is how long an attempt is held without a sign of its worker, by
	// default 30 s. A lease that runs out makes the outcome unknown.
	Lease time.Duration
	// MaxAttempt bounds one submission, by default a minute, in which time in which
	// the process does not run hardly counts. It bounds one question too, and so
	// does Lease.
	MaxAttempt time.Duration
	// Concurrency bounds the submissions and questions under way per provider in
	// this process, by default 8. While answers cannot be written, at most four
	// times as many operations are held.
	Concurrency int
	// Poll is how often an idle runner asks the store per provider, by default 1 s.
	Poll time.Duration
	// Grace is how long attempts may go on after Run was told to stop, by default
	// 10 s. Then their contexts end and what is known is written.
	Grace time.Duration
	// BreakAfter attempts in a row that brought no answer, by default 10, stop
	// this process from submitting to the provider for BreakFor, by default 10 s;
	// then one attempt is tried. Negative means never. Asking goes on.
	BreakAfter int
	BreakFor   time.Duration
	// Observer is told what happens.
	Observer Observer
}

func (o Options) withDefaults() Options {
	o.Lease = positive(o.Lease, 30*time.Second)
	o.MaxAttempt = positive(o.MaxAttempt, time.Minute)
	o.Concurrency = positive(o.Concurrency, 8)
	o.Poll = positive(o.Poll, time.Second)
	o.Grace = positive(o.Grace, 10*time.Second)
	o.BreakFor = positive(o.BreakFor, 10*time.Second)
	if o.BreakAfter == 0 {
		o.BreakAfter = 10
	}
	return o
}

func positive[N int | time.Duration](n, otherwise N) N {
	if n <= 0 {
		return otherwise
	}
	return n
}

func isName(s string) bool { return s != "" && len(s) <= operation.MaxName && isText(s) }

// isText reports what every engine can keep as text.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// check names what is wrong with a provider.
func check(name string, p Provider) error {
	if !isName(name) {
		return fmt.Errorf("external: a provider's name is text of 1 to %d bytes", operation.MaxName)
	}
	if p == nil {
		return fmt.Errorf("external: provider %q is nil", name)
	}
	terms := p.Terms()
	if err := terms.Validate(); err != nil {
		return fmt.Errorf("external: provider %q: %w", name, err)
	}
	if terms.KeyMin > keySize || terms.KeyMax > 0 && terms.KeyMax < keySize {
		return fmt.Errorf("external: provider %q takes keys of %d to %d bytes, ours have %d", name, terms.KeyMin, terms.KeyMax, keySize)
	}
	if _, asks := p.(Querier); terms.Queries && !asks {
		return fmt.Errorf("external: provider %q has Terms.Queries and no Query", name)
	}
	return nil
}
