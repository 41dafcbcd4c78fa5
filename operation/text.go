package operation

import (
	"encoding/json"
	"fmt"
	"time"
)

// Format is the version of the layout that [EncodeText] writes, which engines
// keep beside it. A newer one is [record.ErrNewerFormat], never "not found".
const Format = 1

// text is what engines keep of an operation as one JSON text: no query looks at it.
type text struct {
	Key      string        `json:"key"`
	Within   time.Duration `json:"within,omitzero"`
	Memory   Memory        `json:"memory,omitzero"`
	Lease    time.Time     `json:"lease,omitzero"`
	First    time.Time     `json:"first,omitzero"`
	NotFound time.Time     `json:"notFound,omitzero"`
	Tries    int           `json:"tries,omitzero"`
	Why      string        `json:"why,omitzero"`
	Attempts []Attempt     `json:"attempts,omitzero"`
	Dropped  Dropped       `json:"dropped,omitzero"`
	Answer   *Reply        `json:"answer,omitzero"`
	Evidence []Reply       `json:"evidence,omitzero"`
}

// EncodeText and [DecodeText] are for engine authors: they turn everything of an
// operation into text and back, but for Input and what has a column of its own:
// Ref, Seq, Version, Action, Step, Provider, Partition, State, Disputed, Due,
// Created and Final. The text is JSON for a column of text or bytes: a provider's
// note may hold an escaped NUL, which not every JSON column takes.
func EncodeText(o Operation) ([]byte, error) {
	b, err := json.Marshal(text{o.Key, o.Within, o.Memory, o.Lease, o.First, o.NotFound, o.Tries, o.Why, o.Attempts, o.Dropped, o.Answer, o.Evidence})
	if err != nil {
		return nil, fmt.Errorf("operation: %s: %w", o.Ref, err)
	}
	return b, nil
}

// DecodeText fills o from what EncodeText made; see there.
func DecodeText(b []byte, o *Operation) error {
	var t text
	if err := json.Unmarshal(b, &t); err != nil {
		return fmt.Errorf("operation: %s: %w", o.Ref, err)
	}
	o.Key, o.Within, o.Memory, o.Lease, o.First, o.NotFound = t.Key, t.Within, t.Memory, t.Lease, t.First, t.NotFound
	o.Tries, o.Why, o.Attempts, o.Dropped, o.Answer, o.Evidence = t.Tries, t.Why, t.Attempts, t.Dropped, t.Answer, t.Evidence
	return nil
}
