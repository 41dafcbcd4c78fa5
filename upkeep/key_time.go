package upkeep

import (
	"encoding/json"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// MergedHorizon is the horizon of an operation to which the records of another one
// are moved. What was forgotten under a contract that reads fewer keys raised none,
// so it is now then, as when a contract is registered.
func MergedHorizon(from, into time.Time, fromContract, intoContract []byte, now time.Time) time.Time {
	if KeyTime(intoContract).ReadsMore(KeyTime(fromContract)) {
		return now
	}
	if into.After(from) {
		return into
	}
	return from
}

// KeyTime is how an operation's keys are read, from its published contract. One
// that cannot be read is taken for ULID, which reads every timed key: a horizon
// too high is a review, one too low a second effect.
func KeyTime(published []byte) record.KeyTime {
	var contract struct {
		KeyTime string `json:"key_time"`
	}
	_ = json.Unmarshal(published, &contract) // left empty: not a key time
	if kt, ok := record.ParseKeyTime(contract.KeyTime); ok {
		return kt
	}
	return record.ULID
}
