package upkeep

import (
	"encoding/json"

	"github.com/refrain-dev/refrain/record"
)

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
