package external

import (
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// Adyen is the profile of Adyen's Checkout payments: keys of at most 64
// characters in Idempotency-Key, kept for at least 7 days within the company
// account and one region. Send every attempt to the same region.
//
// A repeat gets the result of the first attempt. A payment is declined in a 200
// whose resultCode says so: that is its stored result and settles on a repeat,
// too. Other results, Pending and RedirectShopper among them, confirm that the
// payment was made; what became of it since is in the answer for the callback that
// settles. resultCode Error stays Lost: it does not say what the issuer did.
// Error code 704, with 422 or 409, means that an attempt is under way;
// transient-error: true, as with 703, that the same key may be tried again; without
// it a 5xx is Lost, too, and a repeat is answered alike. Other refusals with 400 or
// 422 are not known to be stored, so they settle a first submission alone.
//
// Source: docs.adyen.com/development-resources/api-idempotency.
func Adyen() Profile {
	return Profile{
		Name:      "Adyen",
		Terms:     operation.Terms{Dedupes: true, DedupesFor: 7 * 24 * time.Hour, KeyMax: 64},
		KeyHeader: "Idempotency-Key",
		Reference: "pspReference",
		Rules: []Rule{
			{Status: []int{200}, Field: "resultCode", Values: []string{"Refused", "Cancelled"}, End: operation.Refused, Stored: true, Note: noteDeclined},
			{Status: []int{200}, Field: "resultCode", Values: []string{"Error"}, End: operation.Lost, Note: "resultCode Error"},
			{Status: []int{409, 422}, Field: "errorCode", Values: []string{"704"}, End: operation.Lost, RetryAfter: time.Second, Note: noteInUse},
			{Status: []int{400, 409, 422, 503}, Header: "transient-error", Value: "true", End: operation.Lost, RetryAfter: time.Second, Note: noteTryAgain},
			{Status: []int{400, 422}, Field: "status", Values: []string{"400", "422"}, End: operation.Refused, Note: noteInvalid},
		},
	}
}
