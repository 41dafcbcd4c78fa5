package upkeep

import (
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Query selects records for an operator.
type Query struct {
	// State is a state's name or "disputed"; "" is what waits for somebody:
	// unfinished and disputed records.
	State     string
	Operation string // "" is every operation
	Limit     int    // 0 means 100, cut to 1,000
}

// Audit is one line of what an operator did.
type Audit struct {
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Action string    `json:"action"`
	Ref    string    `json:"ref"` // "" where it concerned no single record
	Reason string    `json:"reason"`
	Detail string    `json:"detail"`
}

// StandingAt is the record as its next reader will find it.
func StandingAt(rec record.Record, now time.Time) record.Record {
	if past := record.Expire(record.Seen{Record: &rec}, now).Put; past != nil {
		return *past
	}
	return rec
}
