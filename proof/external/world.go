package external

import (
	"fmt"
	"slices"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// place is where a worker stands.
type place uint8

const (
	idle    place = iota
	opened        // its attempt is durable, nothing has left
	waiting       // it has looked at the clock; the byte is on its way
	asking        // its question is on its way
)

// worker is one process's hold on the operation.
type worker struct {
	at       place
	attempt  int
	notAfter int    // the tick at which its first byte may no longer leave
	asked    int    // the tick at which its question counts as sent
	write    *write // what it has decided and not written yet
}

// write is a decision about the operation as it was at a version.
type write struct {
	about   news
	version int64
	next    *snapshot
	then    worker // where the worker stands after it
}

// news is what a decision is about: without any, about what may happen next.
type news struct {
	attempt int // the attempt that reply is of; 0 for a finding
	reply   operation.Reply
	finding *operation.Finding
	asked   int
}

func (n news) none() bool { return n.attempt == 0 && n.finding == nil }

// confirms returns the confirmation that n tells of.
func (n news) confirms() (operation.Reply, bool) {
	r := n.reply
	if n.finding != nil {
		r = n.finding.Reply
	}
	return r, r.End == operation.Confirmed
}

// snapshot is an operation as it was at a version, and what makes it different
// from others.
type snapshot struct {
	operation.Operation
	key string
}

func shot(o operation.Operation) *snapshot {
	return &snapshot{o, string(appendOperation(nil, &o))}
}

// flight is a submission between its worker's last look at the clock and its
// arrival at the provider.
type flight struct{ attempt, looked int }

// step is what happened last: who did what.
type step struct {
	who  string
	n    int
	what string
}

func (s step) String() string {
	if s.n > 0 {
		return fmt.Sprintf("%s %d %s", s.who, s.n, s.what)
	}
	return s.who + " " + s.what
}

// world is one state of everything. Operations are never changed in place.
type world struct {
	stored   *snapshot
	now      int
	provider provider
	workers  [2]worker
	flights  []flight
	answers  []news // of the provider, on their way back
	acts     int    // of the person

	// What happened, for the invariants.
	beyond  bool     // a byte arrived later after its look than the margin
	known   []string // references that were told to the store
	weighed int      // how many of those a person knew who decided
	decided bool     // a person has decided

	lastStep step
	person   bool // it was a person's
}

// alive are the flights that have lasted no longer than the margin.
func (w *world) alive() []flight {
	return slices.DeleteFunc(slices.Clone(w.flights), func(f flight) bool { return w.now-f.looked > margin })
}

func begin(within int) world {
	return world{stored: shot(operation.Operation{
		Ref: "op", Key: "k", Version: 1, Created: epoch, Due: epoch, State: record.Accepted, Within: instant(within).Sub(epoch),
	})}
}
