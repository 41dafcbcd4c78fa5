package external

import "github.com/refrain-dev/refrain/operation"

// AtLeastOnce is the profile of a receiver that expects a message more than once
// and knows it by its id, as a webhook's does: the key travels in webhook-id, the
// same in every attempt (Standard Webhooks 1.0.0).
//
// Every 2xx is the receipt, 202 included, whatever its body. 410 says that the
// receiver wants no more and refuses; it does not say that an earlier attempt was
// not received. Everything else is Lost and sent again, 3xx among it.
//
// Source: github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md.
func AtLeastOnce() Profile {
	return Profile{
		Name:      "at least once",
		Terms:     operation.Terms{AtLeastOnce: true},
		KeyHeader: "Webhook-Id",
		Rules: []Rule{
			{Status: []int{202}, End: operation.Confirmed},
			{Status: []int{410}, End: operation.Refused, Note: "the receiver wants no more"},
		},
	}
}
