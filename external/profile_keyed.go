package external

import (
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// Keyed is the profile of an HTTP API that takes a key in a header, documents how
// long a repeat of it does not act again, and is otherwise like
// draft-ietf-httpapi-idempotency-key-header-07, this project's own guards
// included. A window of 0 means for as long as it remembers the effect itself.
//
// 400 and 402 refuse, and are the stored answer of the first attempt where
// Idempotent-Replayed: true says so. 409 means that an attempt is under way and 422
// that the payload differs (§2.7). An answer with Idempotency-Status is the
// guard's, not the operation's, and settles nothing. Add Reference and the
// refusals your API documents.
func Keyed(header string, window time.Duration) Profile {
	return Profile{
		Name:      "keyed HTTP",
		Terms:     operation.Terms{Dedupes: true, DedupesFor: window},
		KeyHeader: header,
		Rules: []Rule{
			{Status: []int{409}, End: operation.Lost, RetryAfter: time.Second, Note: noteInUse},
			{Status: []int{422}, End: operation.Lost, Park: true, Note: noteMismatch},
			{Status: []int{400, 402}, Header: "Idempotency-Status", End: operation.Lost, Note: "the guard answered, not the operation"},
			{Status: []int{400, 402}, Header: "Idempotent-Replayed", Value: "true", End: operation.Refused, Stored: true, Note: "the stored refusal of the first attempt"},
			{Status: []int{400, 402}, End: operation.Refused},
		},
	}
}
