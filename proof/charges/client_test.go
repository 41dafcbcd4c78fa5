//go:build linux

package charges

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// order is one payment a client wants, and all it was told of it.
type order struct {
	key     string
	account string
	action  string // ref of its record, once that is known

	mu   sync.Mutex
	told []answer
}

func (o *order) String() string { return o.key }

// body is unlike that of any other order.
func (o *order) body() string {
	return fmt.Sprintf(`{"account":%q,"amount":500,"currency":"EUR"}`, o.account)
}

// declined accounts are refused by the bank.
func (o *order) declined() bool { return strings.HasPrefix(o.account, "declined") }

// order makes one; every sixth is of an account that is declined.
func (x *trial) order() *order {
	name := fmt.Sprintf("account-%d-%x", len(x.orders), x.random.Uint64())
	o := &order{key: "key-" + name, account: name}
	if x.random.IntN(6) == 0 {
		o.account = "declined-" + name
	}
	x.orders = append(x.orders, o)
	return o
}

// answer is what a client got; err says that it got none.
type answer struct {
	status   int
	problem  string
	replayed bool
	body     string
	err      error
}

func (a answer) String() string { return fmt.Sprint(a.status, " ", a.problem, " ", a.body, " ", a.err) }

// final reports whether the client was told an outcome.
func (a answer) final() bool {
	return a.err == nil && (a.status == http.StatusCreated || a.status == http.StatusPaymentRequired)
}

// state of a 202.
func (a answer) state() string {
	var of struct{ State string }
	_ = json.Unmarshal([]byte(a.body), &of)
	return of.State
}

// post sends an order to w, one time.
func (x *trial) post(w *worker, o *order) answer {
	a := send(x.Context(), w.url, o)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(o.told, a)
	return a
}

func send(ctx context.Context, url string, o *order) (a answer) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(o.body()))
	if err != nil {
		return answer{err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header["Idempotency-Key"] = []string{o.key}
	r.GetBody = nil // the transport must not send it again by itself
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(r)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{
		response.StatusCode, response.Header.Get("Idempotency-Status"), response.Header.Get("Idempotent-Replayed") == "true", string(body), err,
	}
}
