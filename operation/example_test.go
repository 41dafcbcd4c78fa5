package operation_test

import (
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// A charge times out. The provider recognises a repeated key for a day, so the
// machine may submit again inside that window and only a person may decide after
// it; whatever is heard later is not lost.
func Example() {
	terms := operation.Terms{Dedupes: true, DedupesFor: 24 * time.Hour}
	noon := time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)
	lease := 30 * time.Second

	charge := operation.Operation{Key: "order-1/charge", Created: noon, Due: noon, State: record.Accepted}
	charge, _ = charge.Open(terms, noon, lease)
	charge = charge.Close(1, operation.Reply{End: operation.Lost, Note: "timeout"}, noon.Add(5*time.Second), operation.Pace{})
	fmt.Println(charge.State, "because of a", charge.Why)

	fmt.Println("at 13:00:", charge.Safe(terms, noon.Add(time.Hour)))
	fmt.Println("a day later:", charge.Safe(terms, noon.Add(24*time.Hour)))

	charge, _ = charge.Open(terms, noon.Add(time.Hour), lease)
	charge = charge.Close(2, operation.Reply{End: operation.Confirmed, Reference: "ch_1"}, noon.Add(time.Hour+time.Second), operation.Pace{})
	fmt.Println(charge.State, charge.Answer.Reference)

	charge = charge.Close(1, operation.Reply{End: operation.Confirmed, Reference: "ch_2"}, noon.Add(2*time.Hour), operation.Pace{})
	fmt.Println(charge.State, charge.Answer.Reference, "disputed:", charge.Disputed)
	// Output:
	// unknown because of a timeout
	// at 13:00: <nil>
	// a day later: the provider's window for this key has ended, less the margin, and an attempt may have left
	// confirmed ch_1
	// confirmed ch_1 disputed: true
}

// A provider that can be asked and promises nothing else: "not found" is no
// proof, because the submission may still be on its way.
func ExampleOperation_Asked() {
	terms := operation.Terms{Queries: true}
	noon := time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)
	minute := noon.Add(time.Minute)

	charge := operation.Operation{Key: "order-1/charge", Created: noon, Due: noon, State: record.Accepted}
	charge, _ = charge.Open(terms, noon, 30*time.Second)
	charge = charge.Abandon(minute, operation.Pace{})
	charge = charge.Asked(terms, operation.Finding{}, minute, minute, operation.Pace{})
	fmt.Println(charge.State, charge.Next(terms, minute) == operation.Rest, charge.Next(terms, minute.Add(time.Hour)) == operation.Ask)

	found := operation.Finding{Found: true, Reply: operation.Reply{End: operation.Confirmed, Reference: "ch_1"}}
	charge = charge.Asked(terms, found, minute.Add(time.Hour), minute.Add(time.Hour), operation.Pace{})
	fmt.Println(charge.State)
	// Output:
	// unknown true true
	// confirmed
}
