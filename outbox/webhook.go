package outbox

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/external"
)

// Webhook delivers messages by POST, signed by Standard Webhooks 1.0.0: the same
// webhook-id for every attempt, a fresh webhook-timestamp and signature for each,
// so that a receiver's check of freshness holds after hours of retries. 2xx means
// delivered. Redirects are not followed and are failures, 410 parks, Retry-After
// is honoured.
type Webhook struct {
	// Endpoint says where a message goes. An error is a failed delivery.
	Endpoint func(ctx context.Context, m Message) (Endpoint, error)
	// Client sends; nil means one that gives an endpoint 20 seconds.
	Client *http.Client
	// Now is the clock of webhook-timestamp; nil means time.Now.
	Now func() time.Time
}

// Endpoint is a receiver.
type Endpoint struct {
	URL string
	// Secrets sign: "whsec_" and base64 of 24 to 64 bytes each. While one is
	// rolled there are two, and the delivery carries a signature by each.
	Secrets []string
}

// defaultClient gives an endpoint 20 seconds, between the 15 and 30 that Standard
// Webhooks recommends.
var defaultClient = &http.Client{Timeout: 20 * time.Second}

// Deliver implements [Sink].
func (h Webhook) Deliver(ctx context.Context, d Delivery) error {
	to, err := h.Endpoint(ctx, d.Message)
	if err != nil {
		return err
	}
	now := time.Now
	if h.Now != nil {
		now = h.Now
	}
	at := now()
	signature, err := Sign(to.Secrets, d.ID, at, d.Payload)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPark, err)
	}
	// The body cannot be rewound, so the transport never repeats it by itself.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, io.NopCloser(bytes.NewReader(d.Payload)))
	if err != nil {
		return fmt.Errorf("%w: the endpoint's URL: %w", ErrPark, errors.Unwrap(err))
	}
	req.ContentLength = int64(len(d.Payload))
	req.Header.Set("Content-Type", "application/json")
	for name, value := range d.Header {
		req.Header.Set(name, value)
	}
	req.Header.Set("webhook-id", d.ID)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	req.Header.Set("webhook-signature", signature)
	client := *defaultClient
	if h.Client != nil {
		client = *h.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("outbox: webhook: %w", withoutURL(err))
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return nil
	case resp.StatusCode == http.StatusGone:
		return fmt.Errorf("%w: the endpoint answers %s", ErrPark, resp.Status)
	}
	later := external.Answer{Status: resp.StatusCode, Header: resp.Header}.RetryAfter(at)
	return &RetryAfter{fmt.Errorf("outbox: webhook: the endpoint answers %s", resp.Status), later}
}

// withoutURL is the error without the endpoint, whose query may be a secret.
func withoutURL(err error) error {
	if e := errors.Unwrap(err); e != nil {
		return e
	}
	return err
}

// Sign returns the value of webhook-signature: one "v1," signature by each
// secret, over id, timestamp in seconds and body, separated by dots (Standard
// Webhooks 1.0.0, "Signature scheme").
func Sign(secrets []string, id string, at time.Time, body []byte) (string, error) {
	if len(secrets) == 0 {
		return "", errors.New("outbox: an endpoint without a secret")
	}
	if id == "" || strings.Contains(id, ".") {
		return "", errors.New("outbox: a webhook-id has no dot and is not empty")
	}
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) < 24 || len(key) > 64 {
			return "", errors.New("outbox: a webhook secret is base64 of 24 to 64 bytes")
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " "), nil
}
