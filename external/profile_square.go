package external

import (
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// Square is the profile of Square's payments and refunds: the key in the body's
// idempotency_key, at most 45 bytes there (other endpoints admit up to 255: set
// Terms.KeyMax). An empty key means no protection and is never sent.
//
// Square documents no time for which it keeps a key. The hour in DedupesFor is
// this package's assumption, as short as the shortest windows usual for money;
// after it a lost answer waits for a question or a person. Set what Square tells
// you.
//
// A repeat gets the first success; refusals are not known to be stored, so none
// settles while an earlier attempt may have left. IDEMPOTENCY_KEY_REUSED means
// that the payload differs. What a lost attempt may have charged can be undone by
// key: CancelPaymentByIdempotencyKey cancels the payment if there is one. It is an
// operation of its own, and the payment's key must not be used after it.
//
// The reference of a refund is at refund.id: set Reference.
//
// Sources: developer.squareup.com/docs/build-basics/common-api-patterns/idempotency
// and github.com/square/connect-api-specification.
func Square() Profile {
	return Profile{
		Name:      "Square",
		Terms:     operation.Terms{Dedupes: true, DedupesFor: time.Hour, KeyMax: 45},
		KeyField:  "idempotency_key",
		Reference: "payment.id",
		Rules: []Rule{
			{Status: []int{400, 409, 422}, Field: "errors.*.code", Values: []string{"IDEMPOTENCY_KEY_REUSED"}, End: operation.Lost, Park: true, Note: noteMismatch},
			{Status: []int{400, 402, 422}, Field: "errors.*.category", Values: []string{"PAYMENT_METHOD_ERROR"}, End: operation.Refused, Note: noteDeclined},
			{Status: []int{400, 422}, Field: "errors.*.category", Values: []string{"INVALID_REQUEST_ERROR"}, End: operation.Refused, Note: noteInvalid},
		},
	}
}
