package operation

import (
	"fmt"
	"slices"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Operation is one external effect: the intent as it was accepted, and what is
// known of its outcome. Times are the store's, UTC, in microseconds.
type Operation struct {
	Ref       string // public id, see [record.NewRef]
	Seq       int64  // the store's order of insertion; set by the store
	Version   int64  // rises with each change; set by the store
	Action    string // ref of the record that waits for it; "" for a message nobody waits for
	Step      string // which of the action's effects, 1 to 64 bytes; unique within an action
	Provider  string // who performs it, as this store's processes know them; 1 to 64 bytes
	Partition string // operations of one provider and partition leave in order; "" means no order; at most [MaxPartition] bytes
	Key       string // the provider's idempotency key, derived once, the same for every attempt
	Input     []byte // what is submitted, the same for every attempt

	Created time.Time     // when it was accepted
	Within  time.Duration // a first attempt may begin only so soon after Created; 0 means no bound
	Memory  Memory        // of the record that waits

	State    record.State
	Disputed bool      // two answers contradict each other; a person must correct
	Due      time.Time // when a machine looks at it next; zero means not without a person, or never again
	Lease    time.Time // of the attempt under way; zero without one
	Final    time.Time // when the state became final; zero before
	First    time.Time // when the first attempt that may have left was opened: the provider's window cannot have begun earlier
	NotFound time.Time // when it was asked, after all attempts had ended, and said that it knows nothing of Key
	Tries    int       // looks in a row that brought nothing, which the pace follows
	Why      string    // why it stands where it stands, for a person; no key and no payload

	Attempts []Attempt // oldest first; at most [MaxAttempts], see there
	Dropped  Dropped   // what is to be known of attempts that are no longer listed
	Answer   *Reply    // what settled it
	Evidence []Reply   // other answers, oldest first; at most [MaxEvidence], see there
}

// Memory is how long the record that waits is replayed and recognised once it is
// final, and how large a result it keeps, in bytes.
type Memory struct {
	ReplayFor, RememberFor time.Duration
	MaxResult              int64
}

// Bounds of what one operation keeps.
const (
	MaxInput     = 1 << 20 // bytes of Operation.Input
	MaxAnswer    = 1 << 16 // bytes of Reply.Body; the rest is cut off
	MaxEvidence  = 16      // beyond it the newest refusal gives way, else the newest confirmation
	MaxAttempts  = 64      // beyond it the oldest that was provably not sent, else the one after the first, is dropped
	MaxNote      = 1 << 10 // bytes of Reply.Note and Reply.Reference; the rest is cut off
	MaxName      = 64      // bytes of Step and Provider
	MaxPartition = 255     // bytes of Partition
	MaxKey       = 255     // bytes of Key

	// MaxRetryAfter bounds how long a provider can have a machine wait.
	MaxRetryAfter = 24 * time.Hour
)

// Validate names what of an intent is beyond the bounds above. Engines refuse it.
func (o Operation) Validate() error {
	for _, part := range []struct {
		name        string
		size, least int
		most        int
	}{
		{"Step", len(o.Step), 1, MaxName},
		{"Provider", len(o.Provider), 1, MaxName},
		{"Partition", len(o.Partition), 0, MaxPartition},
		{"Key", len(o.Key), 0, MaxKey},
		{"Input", len(o.Input), 0, MaxInput},
	} {
		if part.size < part.least || part.size > part.most {
			return fmt.Errorf("operation: %s of %d bytes, it has %d to %d", part.name, part.size, part.least, part.most)
		}
	}
	return nil
}

// Brief is o as a list has it: without Input and without the bodies of replies.
func (o Operation) Brief() Operation {
	o.Input = nil
	if o.Answer != nil {
		answer := *o.Answer
		answer.Body, o.Answer = nil, &answer
	}
	o.Evidence = slices.Clone(o.Evidence)
	for i := range o.Evidence {
		o.Evidence[i].Body = nil
	}
	return o
}

// Dropped are the attempts that may have left and are not in
// Operation.Attempts, or no longer. An answer of one of them can still confirm, but a refusal
// of it proves nothing about the others.
type Dropped struct {
	MayHaveLeft int       // how many
	NotAfter    time.Time // the latest of theirs
}

// Attempt is one submission. Only the newest can be open; beside a final state
// that is one whose worker has not said how it ended.
type Attempt struct {
	N        int       // 1, 2, 3, …
	Opened   time.Time // when it became durable, before anything left
	NotAfter time.Time // its first byte may not leave at or after this instant
	Ended    time.Time // zero while it is open
	End      End
	Note     string // what ended it, for a person
}

// End is what is known of an attempt.
type End uint8

const (
	// Open: it is under way, or its worker is gone and nobody has noticed yet.
	Open End = iota
	// NotSent: provably nothing left.
	NotSent
	// Refused: the provider refused it.
	Refused
	// Lost: it may have left, and no answer tells what became of it.
	Lost
	// Confirmed: the provider performed it, now or in an earlier attempt.
	Confirmed
	// Void: it may have left, and the provider has since proven that it was not
	// and will not be performed.
	Void
)

var ends = [...]string{"open", "not sent", "refused", "lost", "confirmed", "void"}

func (e End) String() string {
	if int(e) < len(ends) {
		return ends[e]
	}
	return "invalid"
}
