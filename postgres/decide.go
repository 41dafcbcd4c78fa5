package postgres

import (
	"time"

	"github.com/refrain-dev/refrain/record"
)

// decide is the decision inside the transaction that holds the identity or was
// refused it: Execute, an answer from the record, or an error. [record.ErrHeld]
// is a live claim of which nothing can be seen.
func decide(found seen, c *record.Claim, now time.Time) (record.Decision, error) {
	if err := c.CheckIdentity(found.Seen); err != nil {
		return record.Decision{}, err
	}
	found.Held = !found.locked
	policy := c.Policy
	policy.Rerun = false // an effect in our transaction is never lost, so this record is another guard's
	decision := record.Decide(policy, found.Seen, c.Request, now)
	switch {
	case decision.Action == record.Execute && found.Held: // a record past its memory, and somebody takes it over
		return decision, record.ErrHeld
	case decision.Action == record.Execute, decision.Action == record.Replay, decision.Action == record.Current:
		return decision, nil
	case decision.Row == "6a":
		return decision, record.ErrHeld
	}
	return decision, record.Refusal(decision, found.Seen, c, now)
}
