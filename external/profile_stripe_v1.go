package external

import (
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// What several profiles say of an answer.
const (
	noteInUse    = "somebody is processing this key"
	noteMismatch = "DEFECT: the provider holds this key with another payload; no attempt with it can succeed"
	noteTryAgain = "the provider says to try again"
	noteDeclined = "declined"
	noteInvalid  = "refused as invalid"
)

// StripeV1 is the profile of Stripe's API v1: keys of at most 255 characters in
// Idempotency-Key, on POST alone, kept for at least 24 hours and then forgotten:
// a later repeat is a new charge.
//
// Once an endpoint has begun, its first answer is stored, errors included, and
// replayed with Idempotent-Replayed: true: such a refusal settles. Failed
// validation, a conflict, 401 and 429 are not stored. A stored 500 stays Lost: it
// does not say what happened. 409 with code idempotency_key_in_use means that an
// attempt is under way; error type idempotency_error that the payload differs.
// Stripe-Should-Retry: true turns a refusal into Lost.
//
// Sources: docs.stripe.com/api/idempotent_requests, docs.stripe.com/error-low-level.
func StripeV1() Profile {
	refused := []int{400, 402}
	return Profile{
		Name:      "Stripe v1",
		Terms:     operation.Terms{Dedupes: true, DedupesFor: 24 * time.Hour, KeyMax: 255},
		KeyHeader: "Idempotency-Key",
		Reference: "id",
		Rules: []Rule{
			{Status: []int{409, 429}, Field: "error.code", Values: []string{"idempotency_key_in_use", "lock_timeout"}, End: operation.Lost, RetryAfter: time.Second, Note: noteInUse},
			{Status: []int{400, 409, 422}, Field: "error.type", Values: []string{"idempotency_error"}, End: operation.Lost, Park: true, Note: noteMismatch},
			{Status: refused, Header: "Stripe-Should-Retry", Value: "true", End: operation.Lost, Note: noteTryAgain},
			{Status: refused, Header: "Idempotent-Replayed", Value: "true", End: operation.Refused, Stored: true, Note: "the stored refusal of the first attempt"},
			{Status: refused, Field: "error.type", Values: []string{"card_error"}, End: operation.Refused, Note: noteDeclined},
			{Status: refused, Field: "error.type", Values: []string{"invalid_request_error"}, End: operation.Refused, Note: noteInvalid},
		},
	}
}
