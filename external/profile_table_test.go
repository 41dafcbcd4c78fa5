package external_test

import (
	"testing"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
)

func TestStripeV1(t *testing.T) {
	t.Parallel()
	holds(t, external.StripeV1(), []answered{
		{status: 200, body: `{"id":"ch_1"}`, first: asConfirmed, repeat: asConfirmed},
		{status: 200, header: "Idempotent-Replayed: true", body: `{"id":"ch_1"}`, first: asConfirmed, repeat: asConfirmed},
		{status: 202, body: `{"id":"ch_1"}`, first: asLost, repeat: asLost},
		{status: 402, body: `{"error":{"type":"card_error"}}`, first: asRefused, repeat: asRefused},
		{status: 402, header: "Idempotent-Replayed: true", body: `{"error":{"type":"card_error"}}`, first: asRefused, repeat: asRefused, stored: true},
		{status: 402, header: "Stripe-Should-Retry: true", body: `{"error":{"type":"card_error"}}`, first: asLost, repeat: asLost},
		{status: 402, body: `<html>`, first: asLost, repeat: asLost},
		{status: 400, body: `{"error":{"type":"invalid_request_error"}}`, first: asRefused, repeat: asRefused},
		{status: 400, body: `{"error":{"type":"idempotency_error"}}`, first: asLost, repeat: asLost, parked: true},
		{status: 400, header: "Idempotent-Replayed: true", body: `{"error":{"type":"idempotency_error"}}`, first: asLost, repeat: asLost, parked: true},
		{status: 400, header: "Idempotent-Replayed: true", body: `{"error":{"type":"idemp`, first: asLost, repeat: asLost},
		{status: 400, body: `{"error":{"type":"api_error"}}`, first: asLost, repeat: asLost},
		{status: 409, body: `{"error":{"code":"idempotency_key_in_use"}}`, first: asLost, repeat: asLost, wait: time.Second},
		{status: 409, header: "Retry-After: 3", body: `{"error":{"code":"idempotency_key_in_use"}}`, first: asLost, repeat: asLost, wait: 3 * time.Second},
		{status: 429, body: `{"error":{"code":"lock_timeout"}}`, first: asLost, repeat: asLost, wait: time.Second},
	})
}

func TestStripeV2(t *testing.T) {
	t.Parallel()
	holds(t, external.StripeV2(), []answered{
		{status: 200, body: `{"id":"acct_1"}`, first: asConfirmed, repeat: asConfirmed},
		{status: 400, body: `{"error":{"type":"invalid_request_error"}}`, first: asRefused, repeat: asRefused},
		{status: 402, header: "Idempotent-Replayed: true", body: `{"error":{"type":"card_error"}}`, first: asRefused, repeat: asRefused},
		{status: 400, header: "Stripe-Should-Retry: true", body: `{"error":{"type":"card_error"}}`, first: asLost, repeat: asLost},
		{status: 409, body: `{"error":{"type":"idempotency_error"}}`, first: asLost, repeat: asLost, parked: true},
		{status: 409, body: `{"error":{"code":"idempotency_key_in_use"}}`, first: asLost, repeat: asLost, wait: time.Second},
	})
}

func TestAdyen(t *testing.T) {
	t.Parallel()
	holds(t, external.Adyen(), []answered{
		{status: 200, body: `{"resultCode":"Authorised","pspReference":"P1"}`, first: asConfirmed, repeat: asConfirmed},
		{status: 200, body: `{"resultCode":"Pending","pspReference":"P1"}`, first: asConfirmed, repeat: asConfirmed},
		{status: 201, body: `{"status":"received","pspReference":"P1"}`, first: asConfirmed, repeat: asConfirmed},
		{status: 200, body: `{"resultCode":"Authorised"}`, first: asLost, repeat: asLost},
		{status: 200, body: `{"resultCode":"Refused","pspReference":"P1"}`, first: asRefused, repeat: asRefused, stored: true},
		{status: 200, body: `{"resultCode":"Cancelled"}`, first: asRefused, repeat: asRefused, stored: true},
		{status: 200, body: `{"resultCode":"Error","pspReference":"P1"}`, first: asLost, repeat: asLost},
		{status: 200, body: `{"resultCode":"Ref`, first: asLost, repeat: asLost},
		{status: 409, body: `{"status":409,"errorCode":"704"}`, first: asLost, repeat: asLost, wait: time.Second},
		{status: 422, body: `{"status":422,"errorCode":"704"}`, first: asLost, repeat: asLost, wait: time.Second},
		{status: 422, header: "transient-error: true", body: `{"status":422,"errorCode":"901"}`, first: asLost, repeat: asLost, wait: time.Second},
		{status: 422, header: "transient-error: false", body: `{"status":422,"errorCode":"14_012"}`, first: asRefused, repeat: asRefused},
		{status: 400, body: `{"status":400,"errorCode":"702"}`, first: asRefused, repeat: asRefused},
		{status: 503, header: "transient-error: true", body: `{"status":503,"errorCode":"703"}`, first: asLost, repeat: asLost, wait: time.Second},
	})
}

func TestPayPal(t *testing.T) {
	t.Parallel()
	for _, api := range []external.PayPalAPI{
		external.PayPalOrdersV2, external.PayPalVaultV3, external.PayPalSubscriptions, external.PayPalCatalog,
		external.PayPalPaymentsV1, external.PayPalPayouts, external.PayPalPaymentsV2, external.PayPalOrdersV1,
	} {
		p := external.PayPal(api)
		if !p.Terms.Dedupes || p.Terms.KeyMax == 0 || (p.Terms.DedupesFor == 0) != (api == external.PayPalOrdersV1) {
			t.Errorf("%s: %+v", p.Name, p.Terms)
		}
		holds(t, p, []answered{
			{status: 201, body: `{"id":"5O1","status":"COMPLETED"}`, first: asConfirmed, repeat: asConfirmed},
			{status: 200, body: `{"status":"COMPLETED"}`, first: asLost, repeat: asLost},
			{status: 409, body: `{"name":"PREVIOUS_REQUEST_IN_PROGRESS"}`, first: asLost, repeat: asLost, wait: time.Second},
			{status: 422, body: `{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"PREVIOUS_REQUEST_IN_PROGRESS"}]}`, first: asLost, repeat: asLost, wait: time.Second},
			{status: 422, body: `{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"X"},{"issue":"DUPLICATE_REQUEST_ID"}]}`, first: asLost, repeat: asLost, parked: true},
			{status: 400, body: `{"name":"PAYPAL_REQUEST_ID_PREVIOUSLY_USED"}`, first: asLost, repeat: asLost, parked: true},
			{status: 422, body: `{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"ORDER_ALREADY_CAPTURED"}]}`, first: asLost, repeat: asLost},
			{status: 422, body: `{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"INSTRUMENT_DECLINED"}]}`, first: asRefused, repeat: asRefused},
			{status: 422, header: "Idempotent-Replayed: true", body: `{"name":"UNPROCESSABLE_ENTITY"}`, first: asRefused, repeat: asRefused},
			{status: 400, body: `{"name":"INVALID_REQUEST"}`, first: asRefused, repeat: asRefused},
			{status: 400, body: `Bad Request`, first: asLost, repeat: asLost},
		})
	}
	holds(t, external.PayPal(external.PayPalPaymentsV2), []answered{
		{status: 201, body: `{"id":"2GG","status":"DECLINED"}`, first: asRefused, repeat: asRefused},
	})
	if unknown := external.PayPal("Invoicing v9"); unknown.Terms != (operation.Terms{}) {
		t.Errorf("an unknown API promises %+v", unknown.Terms)
	}
}

func TestSquare(t *testing.T) {
	t.Parallel()
	holds(t, external.Square(), []answered{
		{status: 200, body: `{"payment":{"id":"KkA"}}`, first: asConfirmed, repeat: asConfirmed},
		{status: 400, body: `{"errors":[{"category":"INVALID_REQUEST_ERROR","code":"IDEMPOTENCY_KEY_REUSED"}]}`, first: asLost, repeat: asLost, parked: true},
		{status: 400, body: `{"errors":[{"category":"INVALID_REQUEST_ERROR","code":"MISSING_REQUIRED_PARAMETER"}]}`, first: asRefused, repeat: asRefused},
		{status: 402, body: `{"errors":[{"category":"PAYMENT_METHOD_ERROR","code":"CARD_DECLINED"}]}`, first: asRefused, repeat: asRefused},
		{status: 402, body: `{"errors":[{"category":"API_ERROR"}]}`, first: asLost, repeat: asLost},
	})
}

func TestKeyed(t *testing.T) {
	t.Parallel()
	holds(t, external.Keyed("Idempotency-Key", time.Hour), []answered{
		{status: 201, first: asConfirmed, repeat: asConfirmed},
		{status: 202, first: asLost, repeat: asLost},
		{status: 400, first: asRefused, repeat: asRefused},
		{status: 402, header: "Idempotent-Replayed: true", first: asRefused, repeat: asRefused, stored: true},
		{status: 400, header: "Idempotency-Status: key-invalid", first: asLost, repeat: asLost},
		{status: 409, first: asLost, repeat: asLost, wait: time.Second},
		{status: 422, first: asLost, repeat: asLost, parked: true},
		{status: 412, first: asLost, repeat: asLost},
	})
}

func TestAtLeastOnce(t *testing.T) {
	t.Parallel()
	holds(t, external.AtLeastOnce(), []answered{
		{status: 200, body: `thanks`, first: asConfirmed, repeat: asConfirmed},
		{status: 202, first: asConfirmed, repeat: asConfirmed},
		{status: 204, first: asConfirmed, repeat: asConfirmed},
		{status: 400, first: asLost, repeat: asLost},
		{status: 410, first: asRefused, repeat: asRefused},
	})
}

func TestNone(t *testing.T) {
	t.Parallel()
	if promised := external.None().Terms; promised != (operation.Terms{}) {
		t.Errorf("it promises %+v", promised)
	}
	holds(t, external.None(), []answered{
		{status: 200, first: asConfirmed, repeat: asConfirmed},
		{status: 202, first: asLost, repeat: asLost},
		{status: 400, first: asLost, repeat: asLost},
		{status: 422, first: asLost, repeat: asLost},
	})
}

// TestDocumentedTerms: what the providers' documentation promises, and no more.
func TestDocumentedTerms(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, tt := range []struct {
		p      external.Profile
		window time.Duration
		key    int
		place  string
	}{
		{external.StripeV1(), day, 255, "Idempotency-Key"},
		{external.StripeV2(), 30 * day, 255, "Idempotency-Key"},
		{external.Adyen(), 7 * day, 64, "Idempotency-Key"},
		{external.PayPal(external.PayPalOrdersV2), 6 * time.Hour, 108, "PayPal-Request-Id"},
		{external.PayPal(external.PayPalVaultV3), 3 * time.Hour, 108, "PayPal-Request-Id"},
		{external.PayPal(external.PayPalSubscriptions), 3 * day, 36, "PayPal-Request-Id"},
		{external.PayPal(external.PayPalCatalog), 3 * day, 36, "PayPal-Request-Id"},
		{external.PayPal(external.PayPalPaymentsV1), 30 * day, 78, "PayPal-Request-Id"},
		{external.PayPal(external.PayPalPayouts), 30 * day, 255, "PayPal-Request-Id"},
		{external.PayPal(external.PayPalPaymentsV2), 45 * day, 36, "PayPal-Request-Id"},
		{external.PayPal(external.PayPalOrdersV1), 0, 36, "PayPal-Request-Id"},
		{external.Square(), time.Hour, 45, "idempotency_key"},
		{external.Keyed("X-Key", 5*time.Minute), 5 * time.Minute, 0, "X-Key"},
	} {
		want := operation.Terms{Dedupes: true, DedupesFor: tt.window, KeyMax: tt.key}
		if place := tt.p.KeyHeader + tt.p.KeyField; tt.p.Terms != want || place != tt.place {
			t.Errorf("%s: %+v in %s", tt.p.Name, tt.p.Terms, place)
		}
	}
}
