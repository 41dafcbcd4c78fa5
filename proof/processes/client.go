package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Client talks to demo processes as the tenant north. Use one per test: closing
// it drops its connections.
type Client struct{ transport *http.Transport }

// NewClient makes a client that may hold as many connections to a process as
// there are callers.
func NewClient(callers int) *Client {
	return &Client{&http.Transport{MaxIdleConns: 0, MaxIdleConnsPerHost: callers}}
}

// Close drops the idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Order is one intended action: a key and what is ordered under it.
type Order struct {
	Key      string
	SKU      string
	Quantity int64
}

// Answer is a complete answer to an order.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Post sends the order to the process at url. An error means that no complete
// answer arrived: whether the order was made is not known.
func (c *Client) Post(ctx context.Context, url string, o Order) (Answer, error) {
	body := fmt.Sprintf(`{"sku":%q,"quantity":%d}`, o.SKU, o.Quantity)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/orders", strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", o.Key)
	return c.do(r)
}

func (c *Client) do(r *http.Request) (Answer, error) {
	r.Header.Set("Authorization", "Bearer demo-north")
	response, err := c.transport.RoundTrip(r)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header, string(body)}, err
}

// settleTries bounds how often Settle asks again.
const settleTries = 10_000

// Settle sends the order until the answer is another one than in-progress.
func (c *Client) Settle(ctx context.Context, url string, o Order) (Answer, error) {
	for range settleTries {
		a, err := c.Post(ctx, url, o)
		if err != nil || a.Kind() != InProgress {
			return a, err
		}
	}
	return Answer{}, errors.New("the order stays in progress")
}

// Count asks the process how many orders there are.
func (c *Client) Count(ctx context.Context, url string) (n int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/orders?limit=1", nil)
	if err != nil {
		return 0, err
	}
	a, err := c.do(r)
	if err != nil {
		return 0, err
	}
	var doc struct{ Count *int }
	if err := json.Unmarshal([]byte(a.Body), &doc); err != nil || a.Status != http.StatusOK || doc.Count == nil {
		return 0, fmt.Errorf("the count was answered with %d %s", a.Status, a.Body)
	}
	return *doc.Count, nil
}

// Kind is what an answer to an order may be; the zero value is one that may not.
type Kind int

const (
	Wrong       Kind = iota
	Success          // 201, fresh or replayed
	InProgress       // row 6a
	Conflict         // row 4
	Unavailable      // row 9: nothing was executed
)

// Kind classifies the answer. What only half agrees is Wrong.
func (a Answer) Kind() Kind {
	problem := a.Header.Get("Idempotency-Status")
	switch {
	case a.Status == http.StatusCreated && problem == "":
		return Success
	case a.Status == http.StatusConflict && problem == "in-progress" && a.Header.Get("Retry-After") != "":
		return InProgress
	case a.Status == http.StatusUnprocessableEntity && problem == "key-reused":
		return Conflict
	case a.Status == http.StatusServiceUnavailable && problem == "store-unavailable" && a.Header.Get("Retry-After") != "":
		return Unavailable
	}
	return Wrong
}

// Replayed reports whether the answer says that it is a repetition.
func (a Answer) Replayed() bool { return a.Header.Get("Idempotent-Replayed") == "true" }

// Made is the order a success reports, with its id.
func (a Answer) Made() (id string, o Order, err error) {
	var doc struct {
		ID       string `json:"order_id"`
		SKU      string `json:"sku"`
		Quantity int64  `json:"quantity"`
	}
	if err := json.Unmarshal([]byte(a.Body), &doc); err != nil {
		return "", o, fmt.Errorf("%w in %q", err, a.Body)
	}
	return doc.ID, Order{SKU: doc.SKU, Quantity: doc.Quantity}, nil
}

// sameFields are the fields a replay repeats beside the body.
var sameFields = [...]string{"Content-Type", "Location", "Idempotency-Ref", "Idempotency-Expires", "Idempotency-Remembered"}

// Differs says in what two successes differ, "" if in nothing. Every field must
// be there.
func (a Answer) Differs(b Answer) string {
	if a.Status != b.Status || a.Body != b.Body {
		return fmt.Sprintf("%d %q and %d %q", a.Status, a.Body, b.Status, b.Body)
	}
	for _, name := range sameFields {
		if one, other := a.Header.Values(name), b.Header.Values(name); len(one) != 1 || len(other) != 1 || one[0] != other[0] {
			return fmt.Sprintf("%s %q and %q", name, one, other)
		}
	}
	return ""
}

func (a Answer) String() string {
	return fmt.Sprintf("%d %s %q", a.Status, a.Header.Get("Idempotency-Status"), a.Body)
}
