package operation

import (
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

var epoch = time.Date(2026, time.March, 14, 9, 26, 53, 589793000, time.UTC)

const lease = 30 * time.Second

// pace without jitter to speak of: First is Most.
var pace = Pace{First: time.Second, Most: time.Second}

// at is the store's time so many seconds after the start.
func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

func accepted() Operation {
	return Operation{
		Ref: "op_1", Step: "charge", Provider: "pay", Key: "k", Input: []byte("100"),
		Created: epoch, Due: epoch, State: record.Accepted,
	}
}

var (
	nothing  = Terms{}
	dedupes  = Terms{Dedupes: true, DedupesFor: time.Hour, Margin: time.Minute}
	forever  = Terms{Dedupes: true}
	queries  = Terms{Queries: true}
	notFound = Terms{Queries: true, NotFoundFinalAfter: 2 * time.Minute}
	atLeast  = Terms{AtLeastOnce: true}
	anything = Terms{AtLeastOnce: true, Queries: true}
)

// attempts opens one attempt after the other, 10 s apart from second 0, that
// end so; [Open] leaves the last one open.
func attempts(t *testing.T, ends ...End) Operation {
	t.Helper()
	o := accepted()
	for i, end := range ends {
		o = opened(t, o, anything, at(10*i))
		if end != Open {
			o = o.Close(i+1, Reply{End: end}, at(10*i+5), pace)
		}
	}
	return o
}

func opened(t *testing.T, o Operation, terms Terms, now time.Time) Operation {
	t.Helper()
	o, err := o.Open(terms, now, lease)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func confirmation(reference string) Reply { return Reply{End: Confirmed, Reference: reference} }

func refusal(status int) Reply { return Reply{End: Refused, Status: status} }
