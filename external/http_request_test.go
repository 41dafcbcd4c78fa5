package external_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
)

type sent struct {
	method, body string
	header       http.Header
	length       int64
}

// recorder answers 200 and tells what it was sent.
func recorder(t *testing.T) (string, chan sent) {
	all := make(chan sent, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		all <- sent{r.Method, string(body), r.Header, r.ContentLength}
		io.WriteString(w, `{"id":"1","payment":{"id":"1"}}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, all
}

func TestKeyInHeader(t *testing.T) {
	t.Parallel()
	url, all := recorder(t)
	p := external.StripeV1()
	p.ExpiryHeader = "Request-Not-After"
	h := to(url, p)
	build := h.Build
	h.Build = func(ctx context.Context, s external.Submission) (*http.Request, error) {
		r, err := build(ctx, s)
		r.Header.Set("Idempotency-Key", "another")
		return r, err
	}
	for _, input := range []string{"", "amount=500"} {
		s := external.Submission{Key: "k-1", Input: []byte(input), NotAfter: time.Date(2026, 5, 1, 12, 0, 0, 999, time.UTC)}
		if r := h.Submit(t.Context(), s); r.End != operation.Confirmed {
			t.Fatalf("%+v", r)
		}
		got := <-all
		if got.method != "POST" || got.body != input || got.length != int64(len(input)) || strings.Join(got.header.Values("Idempotency-Key"), " ") != "k-1" {
			t.Errorf("sent %+v", got)
		}
		if got.header.Get("Request-Not-After") != "Fri, 01 May 2026 12:00:00 GMT" {
			t.Errorf("NotAfter sent as %q", got.header.Get("Request-Not-After"))
		}
	}
	p.Method = http.MethodPut
	h = to(url, p)
	h.Submit(t.Context(), external.Submission{Key: "k-1"})
	if got := <-all; got.method != "PUT" {
		t.Errorf("sent by %s", got.method)
	}
}

// TestSharedFields: Build may give all requests the same fields, or take them from
// a client's; the key of one is not that of another.
func TestSharedFields(t *testing.T) {
	t.Parallel()
	url, all := recorder(t)
	h := to(url, external.StripeV1())
	shared := http.Header{"Authorization": {"Bearer t"}}
	build := h.Build
	h.Build = func(ctx context.Context, s external.Submission) (*http.Request, error) {
		r, err := build(ctx, s)
		r.Header = shared
		return r, err
	}
	var dials atomic.Int32
	dialling, goOn := make(chan struct{}), make(chan struct{})
	h.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials.Add(1) == 1 {
			close(dialling)
			<-goOn
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	var first sync.WaitGroup
	first.Go(func() { h.Submit(t.Context(), external.Submission{Key: "first", Input: []byte("first")}) })
	<-dialling
	h.Submit(t.Context(), external.Submission{Key: "second", Input: []byte("second")})
	close(goOn)
	first.Wait()
	for range 2 {
		if got := <-all; got.header.Get("Idempotency-Key") != got.body || got.header.Get("Authorization") != "Bearer t" {
			t.Errorf("%q was sent as %v", got.body, got.header)
		}
	}
	if len(shared) != 1 {
		t.Errorf("the shared fields are now %v", shared)
	}
}

func TestKeyInBody(t *testing.T) {
	t.Parallel()
	url, all := recorder(t)
	h := to(url, external.Square())
	for input, want := range map[string]string{
		`{}`:                   `{"idempotency_key":"k\"1"}`,
		` { "amount" : 1.0 } `: `{"idempotency_key":"k\"1", "amount" : 1.0 } `,
	} {
		if r := h.Submit(t.Context(), external.Submission{Key: `k"1`, Input: []byte(input)}); r.End != operation.Confirmed {
			t.Fatalf("%+v", r)
		}
		if got := <-all; got.body != want || got.length != int64(len(want)) {
			t.Errorf("sent %q, want %q", got.body, want)
		}
	}
	for _, input := range []string{``, `null`, `[]`, `{"idempotency_key":"other"}`, `{"amount":`, `{} {}`} {
		if r := h.Submit(t.Context(), external.Submission{Key: "k", Input: []byte(input)}); r.End != operation.NotSent {
			t.Errorf("%s: %+v, want not sent", input, r)
		}
	}
}

// TestUnfitKeys do not leave, and are not told.
func TestUnfitKeys(t *testing.T) {
	t.Parallel()
	url, _ := recorder(t)
	for _, key := range []string{"", strings.Repeat("k", 46), "a b", "a\r\nX: y", "é"} {
		r := to(url, external.Square()).Submit(t.Context(), external.Submission{Key: key, Input: []byte(`{}`)})
		if r.End != operation.NotSent || key != "" && strings.Contains(r.Note, key) {
			t.Errorf("%q: %+v, want not sent", key, r)
		}
	}
	if r := to(url, external.Square()).Submit(t.Context(), external.Submission{Key: strings.Repeat("k", 45), Input: []byte(`{}`)}); r.End != operation.Confirmed {
		t.Errorf("45 bytes: %+v", r)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("no more") }

// TestUnbuilt requests end before anything is sent.
func TestUnbuilt(t *testing.T) {
	t.Parallel()
	url, _ := recorder(t)
	for name, build := range map[string]func(context.Context, external.Submission) (*http.Request, error){
		"nil": nil,
		"error": func(context.Context, external.Submission) (*http.Request, error) {
			return nil, errors.New("no address")
		},
		"nothing": func(context.Context, external.Submission) (*http.Request, error) { return nil, nil },
		"bad body": func(ctx context.Context, _ external.Submission) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, "", url, failing{})
		},
		"large body": func(ctx context.Context, _ external.Submission) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, "", url, strings.NewReader(strings.Repeat("x", 4*operation.MaxInput+1)))
		},
		"no scheme": func(ctx context.Context, _ external.Submission) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, "", "//example.org", nil)
		},
	} {
		h := &external.HTTP{Build: build}
		if r := h.Submit(t.Context(), external.Submission{Key: "k"}); r.End != operation.NotSent || r.Note == "" {
			t.Errorf("%s: %+v, want not sent", name, r)
		}
	}
}

func TestHTTPValidate(t *testing.T) {
	t.Parallel()
	ask := func(context.Context, external.Submission) (*http.Request, error) { return nil, nil }
	found := func(external.Answer) (operation.Finding, error) { return operation.Finding{}, nil }
	late := external.Profile{Terms: operation.Terms{Queries: true, NotFoundFinalAfter: time.Hour}}
	for name, h := range map[string]*external.HTTP{
		"no Build":         {},
		"Ask alone":        {Build: ask, Ask: ask},
		"Found alone":      {Build: ask, Found: found},
		"negative Timeout": {Build: ask, Timeout: -1},
		"profile":          {Build: ask, Profile: external.Profile{KeyHeader: "K", KeyField: "k"}},
	} {
		if h.Validate() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := (&external.HTTP{Build: ask}).Validate(); err != nil {
		t.Error(err)
	}
	if got := (&external.HTTP{Build: ask, Profile: late}).Terms(); got.Queries || got.NotFoundFinalAfter != 0 {
		t.Errorf("without Ask: %+v", got)
	}
	if got := (&external.HTTP{Build: ask, Ask: ask, Found: found, Profile: late}).Terms(); !got.Queries || got.NotFoundFinalAfter != time.Hour {
		t.Errorf("with Ask: %+v", got)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		value, date string
		want        time.Duration
	}{
		{"", "", 0},
		{"0", "", 0},
		{" 120 ", "", 2 * time.Minute},
		{"86400", "", 24 * time.Hour},
		{"86401", "", 24 * time.Hour},
		{"99999999999999999999999", "", 24 * time.Hour},
		{"-5", "", 0},
		{"1.5", "", 0},
		{"soon", "", 0},
		{"Fri, 01 May 2026 12:00:30 GMT", "", 30 * time.Second},
		{"Fri, 01 May 2026 11:59:30 GMT", "", 0},
		{"Fri, 01 May 2099 12:00:00 GMT", "", 24 * time.Hour},
		{"Fri, 01 May 2026 15:00:30 GMT", "Fri, 01 May 2026 15:00:00 GMT", 30 * time.Second},
		{"Friday, 01-May-26 12:00:30 GMT", "", 30 * time.Second},
	} {
		a := external.Answer{Header: http.Header{}}
		a.Header.Set("Retry-After", tt.value)
		a.Header.Set("Date", tt.date)
		if got := a.RetryAfter(now); got != tt.want {
			t.Errorf("%q at %q: %v, want %v", tt.value, tt.date, got, tt.want)
		}
	}
}
