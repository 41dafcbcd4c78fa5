package external

import (
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// PayPalAPI names one of PayPal's APIs: each keeps its keys for another time.
type PayPalAPI string

// PayPal's APIs, how long each keeps a key, and how long one may be. Where PayPal
// documents no length it is 36, which each of its documented limits admits.
const (
	PayPalOrdersV2      PayPalAPI = "Orders v2"        // 6 hours, 108 characters
	PayPalVaultV3       PayPalAPI = "Vault v3"         // 3 hours, 108 characters
	PayPalSubscriptions PayPalAPI = "Subscriptions v1" // 72 hours
	PayPalCatalog       PayPalAPI = "Catalog v1"       // 72 hours
	PayPalPaymentsV1    PayPalAPI = "Payments v1"      // 30 days, 78 characters
	PayPalPayouts       PayPalAPI = "Payouts v1"       // 30 days, 255 characters (of the 1,000 documented)
	PayPalPaymentsV2    PayPalAPI = "Payments v2"      // 45 days
	PayPalOrdersV1      PayPalAPI = "Orders v1"        // for ever
)

var payPalTerms = map[PayPalAPI]operation.Terms{
	PayPalOrdersV2:      {Dedupes: true, DedupesFor: 6 * time.Hour, KeyMax: 108},
	PayPalVaultV3:       {Dedupes: true, DedupesFor: 3 * time.Hour, KeyMax: 108},
	PayPalSubscriptions: {Dedupes: true, DedupesFor: 72 * time.Hour, KeyMax: 36},
	PayPalCatalog:       {Dedupes: true, DedupesFor: 72 * time.Hour, KeyMax: 36},
	PayPalPaymentsV1:    {Dedupes: true, DedupesFor: 30 * 24 * time.Hour, KeyMax: 78},
	PayPalPayouts:       {Dedupes: true, DedupesFor: 30 * 24 * time.Hour, KeyMax: 255},
	PayPalPaymentsV2:    {Dedupes: true, DedupesFor: 45 * 24 * time.Hour, KeyMax: 36},
	PayPalOrdersV1:      {Dedupes: true, KeyMax: 36},
}

// PayPal is the profile of one of PayPal's APIs: keys in PayPal-Request-Id. An
// API it does not know promises nothing.
//
// A repeat gets the latest status of the earlier request, not a stored answer, so
// no refusal settles while an earlier attempt may have left.
// PREVIOUS_REQUEST_IN_PROGRESS means that an attempt is under way,
// PAYPAL_REQUEST_ID_PREVIOUSLY_USED and DUPLICATE_REQUEST_ID that the key stands
// for another request. ORDER_ALREADY_CAPTURED stays Lost, also on a first
// submission: the order was captured, and by whom is for a question. A capture of
// Payments v2 that is answered with status DECLINED or FAILED is refused; under
// Orders v2 such a status stands deeper, add a rule for the place your calls use.
//
// Sources: developer.paypal.com/reference/guidelines/idempotency and the
// specifications in github.com/paypal/paypal-rest-api-specifications.
func PayPal(api PayPalAPI) Profile {
	p := Profile{
		Name:      "PayPal " + string(api),
		Terms:     payPalTerms[api],
		KeyHeader: "PayPal-Request-Id",
		Reference: "id",
	}
	if api == PayPalPaymentsV2 {
		p.Rules = append(p.Rules, Rule{Status: []int{200, 201}, Field: "status", Values: []string{"DECLINED", "FAILED"}, End: operation.Refused, Note: noteDeclined})
	}
	for _, place := range []string{"name", "details.*.issue"} {
		p.Rules = append(p.Rules,
			Rule{Status: []int{400, 409, 422}, Field: place, Values: []string{"PREVIOUS_REQUEST_IN_PROGRESS"}, End: operation.Lost, RetryAfter: time.Second, Note: noteInUse},
			Rule{Status: []int{400, 409, 422}, Field: place, Values: []string{"PAYPAL_REQUEST_ID_PREVIOUSLY_USED", "DUPLICATE_REQUEST_ID"}, End: operation.Lost, Park: true, Note: noteMismatch},
			Rule{Status: []int{400, 409, 422}, Field: place, Values: []string{"ORDER_ALREADY_CAPTURED"}, End: operation.Lost, Note: "the order is captured already"},
		)
	}
	p.Rules = append(p.Rules,
		Rule{Status: []int{400}, Field: "name", Values: []string{"INVALID_REQUEST"}, End: operation.Refused, Note: noteInvalid},
		Rule{Status: []int{422}, Field: "name", Values: []string{"UNPROCESSABLE_ENTITY"}, End: operation.Refused, Note: noteDeclined},
	)
	return p
}
