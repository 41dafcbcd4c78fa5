package external

import (
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// StripeV2 is the profile of Stripe's API v2 (/v2 paths): keys in
// Idempotency-Key on POST and DELETE, kept for 30 days.
//
// A repeat of what succeeded changes nothing and answers with the object as it is
// now; what failed, or failed in part, is executed again. No refusal is therefore
// the stored answer of the first attempt, and none settles while an earlier
// attempt may have left. Length of keys and the answer to a concurrent repeat are
// not documented; 255 and the words of API v1 are assumed.
//
// Source: docs.stripe.com/api-v2-overview.
func StripeV2() Profile {
	return Profile{
		Name:      "Stripe v2",
		Terms:     operation.Terms{Dedupes: true, DedupesFor: 30 * 24 * time.Hour, KeyMax: 255},
		KeyHeader: "Idempotency-Key",
		Reference: "id",
		Rules: []Rule{
			{Status: []int{409, 429}, Field: "error.code", Values: []string{"idempotency_key_in_use", "lock_timeout"}, End: operation.Lost, RetryAfter: time.Second, Note: noteInUse},
			{Status: []int{400, 409, 422}, Field: "error.type", Values: []string{"idempotency_error"}, End: operation.Lost, Park: true, Note: noteMismatch},
			{Status: []int{400, 402}, Header: "Stripe-Should-Retry", Value: "true", End: operation.Lost, Note: noteTryAgain},
			{Status: []int{400, 402}, Field: "error.type", Values: []string{"card_error"}, End: operation.Refused, Note: noteDeclined},
			{Status: []int{400, 402}, Field: "error.type", Values: []string{"invalid_request_error"}, End: operation.Refused, Note: noteInvalid},
		},
	}
}
