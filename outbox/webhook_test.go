package outbox_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/outbox"
	"github.com/refrain-dev/refrain/vectors"
)

// Signatures are those of the Standard Webhooks libraries. A secret of 23 bytes,
// which they take, is below what the specification asks for, and refused.
func TestSignVectors(t *testing.T) {
	checked := 0
	for _, v := range vectors.Webhooks() {
		want := v.Headers["webhook-signature"]
		if v.Scheme != "standard-webhooks" || !v.Valid || !strings.HasPrefix(v.Secret, "whsec_") || strings.Contains(want, " ") || !strings.HasPrefix(want, "v1,") {
			continue
		}
		got, err := outbox.Sign([]string{v.Secret}, v.ID, time.Unix(v.Timestamp, 0), []byte(v.Body))
		if strings.Contains(v.Name, "short secret") {
			if err == nil {
				t.Errorf("%s: signed", v.Name)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", v.Name, got, err, want)
		}
		checked++
	}
	if checked < 2 {
		t.Errorf("only %d vectors were fit to check", checked)
	}
}

func TestSignRefuses(t *testing.T) {
	at := time.Unix(1, 0)
	good := secret("a")
	for name, c := range map[string]struct {
		secrets []string
		id      string
	}{
		"no secret":   {nil, "msg"},
		"short":       {[]string{"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 23))}, "msg"},
		"long":        {[]string{"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65))}, "msg"},
		"not base64":  {[]string{"whsec_%%%"}, "msg"},
		"dotted id":   {[]string{good}, "msg.1"},
		"no id":       {[]string{good}, ""},
		"one is good": {[]string{good, "whsec_"}, "msg"},
	} {
		if got, err := outbox.Sign(c.secrets, c.id, at, nil); err == nil {
			t.Errorf("%s: signed %q", name, got)
		} else if strings.Contains(err.Error(), "whsec_%") {
			t.Errorf("%s: the error shows the secret", name)
		}
	}
}

// While a secret is rolled, a receiver that knows either of the two accepts.
func TestSignRolled(t *testing.T) {
	at := time.Unix(1700000000, 0)
	old, err1 := outbox.Sign([]string{secret("a")}, "msg", at, []byte("{}"))
	both, err2 := outbox.Sign([]string{secret("b"), secret("a")}, "msg", at, []byte("{}"))
	if err1 != nil || err2 != nil || len(strings.Fields(both)) != 2 || strings.Fields(both)[1] != old {
		t.Errorf("%q, %q, %v, %v", old, both, err1, err2)
	}
}

func secret(c string) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(c, 32)))
}

// delivery is what an endpoint received.
type delivery struct {
	header http.Header
	body   string
}

// endpoint answers with the given answers, then 204, and keeps what came.
func endpoint(t *testing.T, answers ...func(w http.ResponseWriter)) (url string, came func() []delivery) {
	t.Helper()
	var mu sync.Mutex
	var all []delivery
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		all = append(all, delivery{r.Header.Clone(), string(body)})
		n := len(all)
		mu.Unlock()
		if n <= len(answers) {
			answers[n-1](w)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []delivery {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

func to(url string, secrets ...string) func(context.Context, outbox.Message) (outbox.Endpoint, error) {
	return func(context.Context, outbox.Message) (outbox.Endpoint, error) {
		return outbox.Endpoint{URL: url, Secrets: secrets}, nil
	}
}

// Each attempt is signed when it is made, under the same id: after twelve hours
// of retries a receiver's check of freshness still holds.
func TestWebhookSignsEachAttempt(t *testing.T) {
	url, came := endpoint(t, func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) })
	now := time.Unix(1700000000, 0)
	hook := outbox.Webhook{Endpoint: to(url, secret("a")), Now: func() time.Time { return now }}
	d := outbox.Delivery{Message: outbox.Message{ID: "msg_1", Payload: []byte(`{"a":1}`), Header: map[string]string{"X-Kind": "order"}}}
	if err := hook.Deliver(t.Context(), d); err == nil || errors.Is(err, outbox.ErrPark) {
		t.Fatalf("first: %v", err)
	}
	first := now
	now = now.Add(12 * time.Hour)
	if err := hook.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	all := came()
	if len(all) != 2 {
		t.Fatalf("%d deliveries", len(all))
	}
	for i, at := range []time.Time{first, now} {
		want, err := outbox.Sign([]string{secret("a")}, "msg_1", at, []byte(`{"a":1}`))
		h := all[i].header
		if err != nil || h.Get("Webhook-Id") != "msg_1" || h.Get("Webhook-Timestamp") != strconv.FormatInt(at.Unix(), 10) ||
			h.Get("Webhook-Signature") != want || all[i].body != `{"a":1}` || h.Get("X-Kind") != "order" || h.Get("Content-Type") != "application/json" {
			t.Errorf("attempt %d: %v %q", i+1, h, all[i].body)
		}
	}
}

// What an answer means.
func TestWebhookAnswers(t *testing.T) {
	now := time.Unix(1700000000, 0).UTC()
	for name, c := range map[string]struct {
		answer    func(w http.ResponseWriter)
		delivered bool
		parked    bool
		after     time.Duration
	}{
		"200":      {answer: func(w http.ResponseWriter) {}, delivered: true},
		"299":      {answer: func(w http.ResponseWriter) { w.WriteHeader(299) }, delivered: true},
		"redirect": {answer: func(w http.ResponseWriter) { w.Header().Set("Location", "/"); w.WriteHeader(302) }},
		"404":      {answer: func(w http.ResponseWriter) { w.WriteHeader(404) }},
		"410":      {answer: func(w http.ResponseWriter) { w.WriteHeader(410) }, parked: true},
		"429": {answer: func(w http.ResponseWriter) { w.Header().Set("Retry-After", "120"); w.WriteHeader(429) },
			after: 2 * time.Minute},
		"503 until": {answer: func(w http.ResponseWriter) {
			w.Header()["Date"] = nil
			w.Header().Set("Retry-After", now.Add(time.Hour).Format(http.TimeFormat))
			w.WriteHeader(503)
		}, after: time.Hour},
		"503 until, by the endpoint's clock": {answer: func(w http.ResponseWriter) {
			w.Header().Set("Date", now.Add(-time.Minute).Format(http.TimeFormat))
			w.Header().Set("Retry-After", now.Add(time.Hour).Format(http.TimeFormat))
			w.WriteHeader(503)
		}, after: 61 * time.Minute},
		"503 for a year": {answer: func(w http.ResponseWriter) { w.Header().Set("Retry-After", "31536000"); w.WriteHeader(503) },
			after: 24 * time.Hour},
		"503 before": {answer: func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", now.Add(-time.Hour).Format(http.TimeFormat))
			w.WriteHeader(503)
		}},
		"reset": {answer: func(http.ResponseWriter) { panic(http.ErrAbortHandler) }},
	} {
		url, came := endpoint(t, c.answer)
		hook := outbox.Webhook{Endpoint: to(url+"/?token=secret", secret("a")), Now: func() time.Time { return now }}
		err := hook.Deliver(t.Context(), outbox.Delivery{Message: outbox.Message{ID: "msg", Payload: []byte("{}")}})
		later, _ := errors.AsType[*outbox.RetryAfter](err)
		switch {
		case (err == nil) != c.delivered, errors.Is(err, outbox.ErrPark) != c.parked, c.after > 0 && (later == nil || later.After != c.after):
			t.Errorf("%s: %v %+v", name, err, later)
		case later != nil && c.after == 0 && later.After != 0:
			t.Errorf("%s: after %v", name, later.After)
		case err != nil && strings.Contains(err.Error(), "token"):
			t.Errorf("%s: the error shows the endpoint's secret: %v", name, err)
		case len(came()) != 1:
			t.Errorf("%s: %d requests", name, len(came()))
		}
	}
}

// An endpoint that cannot be signed for, or is no URL, is a person's business.
func TestWebhookParks(t *testing.T) {
	d := outbox.Delivery{Message: outbox.Message{ID: "msg"}}
	for name, hook := range map[string]outbox.Webhook{
		"no secret": {Endpoint: to("http://127.0.0.1:1/")},
		"no URL":    {Endpoint: to("http://%zz", secret("a"))},
	} {
		if err := hook.Deliver(t.Context(), d); !errors.Is(err, outbox.ErrPark) {
			t.Errorf("%s: %v", name, err)
		}
	}
	none := errors.New("no such tenant")
	hook := outbox.Webhook{Endpoint: func(context.Context, outbox.Message) (outbox.Endpoint, error) { return outbox.Endpoint{}, none }}
	if err := hook.Deliver(t.Context(), d); !errors.Is(err, none) || errors.Is(err, outbox.ErrPark) {
		t.Errorf("the lookup of an endpoint failed: %v", err)
	}
}
