package sqlite

import (
	"time"

	"github.com/refrain-dev/refrain"
)

// Tx is what an effect writes with. It is valid until the effect returns.
// Statements that begin, end or nest transactions, change the schema or touch
// Refrain's own tables are refused.
type Tx = refrain.SQLTx

// Options of an engine. The zero value works.
type Options struct {
	// Now replaces the clock; nil is the system clock. One stamp is taken per
	// transaction, after the claim is held.
	Now func() time.Time
	// Observer is told every decision; nil is nobody.
	Observer refrain.Observer
	// Readers is the size of the read pool; 0 means 4.
	Readers int
	// Busy is how long a call waits for the writer, its own or another
	// process's, before it is row 9 with nothing executed; 0 means 5 s.
	Busy time.Duration
	// Normal relaxes synchronous=FULL to NORMAL: several times the speed of a
	// single caller, but a power loss may take the latest acknowledged effects
	// together with their records.
	Normal bool
}

const (
	defaultReaders = 4
	defaultBusy    = 5 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Readers <= 0 {
		o.Readers = defaultReaders
	}
	if o.Busy <= 0 {
		o.Busy = defaultBusy
	}
	return o
}
