package external_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/fakeprovider"
	"github.com/refrain-dev/refrain/operation"
)

// bank starts a fake provider and a client of it that presents token.
func bank(t *testing.T, change func(*fakeprovider.Switches), token string) (*fakeprovider.Server, *external.HTTP) {
	t.Helper()
	s := fakeprovider.New()
	if change != nil {
		if err := s.Set(change); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	h := &external.HTTP{
		Profile: external.Keyed("Idempotency-Key", 24*time.Hour),
		Build: func(ctx context.Context, s2 external.Submission) (*http.Request, error) {
			r, err := http.NewRequestWithContext(ctx, "", s.URL()+"/charges", strings.NewReader(string(s2.Input)))
			if err == nil {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			return r, err
		},
		Ask: func(ctx context.Context, s2 external.Submission) (*http.Request, error) {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/charges?key="+s2.Key, nil)
			if err == nil {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			return r, err
		},
		Found: foundCharge,
	}
	h.Profile.Reference = "id"
	t.Cleanup(h.Close)
	return s, h
}

func foundCharge(a external.Answer) (operation.Finding, error) {
	states, _ := a.Field("state")
	if a.Status != http.StatusOK || len(states) != 1 {
		return operation.Finding{}, fmt.Errorf("status %d", a.Status)
	}
	ids, _ := a.Field("charges.*.id")
	switch fakeprovider.State(states[0]) {
	case fakeprovider.Charged:
		return operation.Finding{Found: true, Reply: operation.Reply{End: operation.Confirmed, Reference: ids[0], Body: a.Body}}, nil
	case fakeprovider.Declined:
		return operation.Finding{Found: true, Reply: operation.Reply{End: operation.Refused}}, nil
	case fakeprovider.Pending:
		return operation.Finding{Found: true, Pending: true}, nil
	}
	return operation.Finding{}, nil
}

var order = []byte(`{"account":"anna","amount":500,"currency":"EUR"}`)

// TestLostAnswers: whatever happens to the answer, the attempt is lost, and the
// repeat finds the one charge.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, fault := range []fakeprovider.Fault{fakeprovider.LoseAnswer, fakeprovider.CutAnswer, fakeprovider.FailBefore, fakeprovider.FailAfter} {
		s, h := bank(t, func(w *fakeprovider.Switches) { w.Fault, w.Times = fault, 1 }, "")
		first := h.Submit(t.Context(), external.Submission{Key: "k", Input: order, Attempt: 1})
		if first.End != operation.Lost {
			t.Errorf("%s: first %+v, want lost", fault, first)
		}
		again := h.Submit(t.Context(), external.Submission{Key: "k", Input: order, Attempt: 2, Repeats: true})
		if charges := s.Charges(); again.End != operation.Confirmed || len(charges) != 1 || charges[0].ID != again.Reference || s.Requests() != 2 {
			t.Errorf("%s: again %+v, charges %v of %d requests", fault, again, charges, s.Requests())
		}
	}
}

// TestCutAnswer: the beginning of a 2xx proves nothing, even to who needs no body.
func TestCutAnswer(t *testing.T) {
	t.Parallel()
	_, h := bank(t, func(w *fakeprovider.Switches) { w.Fault = fakeprovider.CutAnswer }, "")
	h.Profile = external.AtLeastOnce()
	if r := h.Submit(t.Context(), external.Submission{Key: "k", Input: order}); r.End != operation.Lost || r.Status != 201 {
		t.Errorf("%+v, want lost with 201", r)
	}
}

// TestTimeout is no failure.
func TestTimeout(t *testing.T) {
	t.Parallel()
	s, h := bank(t, func(w *fakeprovider.Switches) { w.Delay = fakeprovider.MaxDelay }, "")
	ctx, giveUp := context.WithCancel(t.Context())
	replies := make(chan operation.Reply)
	go func() { replies <- h.Submit(ctx, external.Submission{Key: "k", Input: order}) }()
	asked := func() operation.Finding {
		f, err := h.Query(t.Context(), external.Submission{Key: "k"})
		if err != nil {
			t.Error(err)
		}
		return f
	}
	for !asked().Pending {
		if t.Failed() {
			t.FailNow()
		}
	}
	giveUp()
	if r := <-replies; r.End != operation.Lost {
		t.Errorf("%+v, want lost", r)
	}
	for asked().Pending {
		if t.Failed() {
			t.FailNow()
		}
	}
	if f := asked(); !f.Found || f.Reply.End != operation.Confirmed || f.Reply.Reference != s.Charges()[0].ID {
		t.Errorf("%+v, want the charge", f)
	}
	h.Timeout = time.Nanosecond
	if r := h.Submit(t.Context(), external.Submission{Key: "k2", Input: order}); r.End != operation.NotSent {
		t.Errorf("%+v, want not sent: the time was over before a connection stood", r)
	}
}

// TestRotatedCredential: a charge whose credential was refused is not rejected.
func TestRotatedCredential(t *testing.T) {
	t.Parallel()
	s, h := bank(t, func(w *fakeprovider.Switches) { w.APIKey = "new" }, "old")
	for _, repeats := range []bool{false, true} {
		if r := h.Submit(t.Context(), external.Submission{Key: "k", Input: order, Repeats: repeats}); r.End != operation.Lost || r.Status != 401 {
			t.Errorf("repeats=%t: %+v, want lost", repeats, r)
		}
	}
	if _, err := h.Query(t.Context(), external.Submission{Key: "k"}); err == nil {
		t.Error("a question with the old credential brought an answer")
	}
	if len(s.Charges()) != 0 {
		t.Error("charged")
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	s, h := bank(t, nil, "")
	if f, err := h.Query(t.Context(), external.Submission{Key: "k"}); err != nil || f.Found {
		t.Errorf("%+v, %v, want not found", f, err)
	}
	h.Submit(t.Context(), external.Submission{Key: "d", Input: []byte(`{"account":"declined","amount":1,"currency":"EUR"}`)})
	if f, err := h.Query(t.Context(), external.Submission{Key: "d"}); err != nil || f.Reply.End != operation.Refused {
		t.Errorf("%+v, %v, want refused", f, err)
	}
	if err := s.Set(func(w *fakeprovider.Switches) { w.Query = false }); err != nil {
		t.Fatal(err)
	}
	if f, err := h.Query(t.Context(), external.Submission{Key: "k"}); err == nil {
		t.Errorf("%+v, want an error: a 404 is not \"not found\"", f)
	}
	s.Close()
	if f, err := h.Query(t.Context(), external.Submission{Key: "k"}); err == nil {
		t.Errorf("%+v, want an error", f)
	}
	h.Ask, h.Found = nil, nil
	if _, err := h.Query(t.Context(), external.Submission{Key: "k"}); err == nil {
		t.Error("want an error: it cannot be asked")
	}
}

// TestNothingSent: no connection, or no handshake.
func TestNothingSent(t *testing.T) {
	t.Parallel()
	s, h := bank(t, nil, "")
	s.Close()
	gate := func() error { t.Error("the gate was asked without a connection"); return nil }
	if r := h.Submit(t.Context(), external.Submission{Key: "k", Input: order, Gate: gate}); r.End != operation.NotSent {
		t.Errorf("%+v, want not sent: nobody listens", r)
	}
	untrusted := httptest.NewUnstartedServer(nil)
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	h.Build = func(ctx context.Context, _ external.Submission) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, "", untrusted.URL, nil)
	}
	if r := h.Submit(t.Context(), external.Submission{Key: "k", Gate: gate}); r.End != operation.NotSent {
		t.Errorf("%+v, want not sent: the certificate is not trusted", r)
	}
}

// TestRedirectsAreNotFollowed, also those that keep method and body.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var followed atomic.Int32
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				followed.Add(1)
				return
			}
			http.Redirect(w, r, "/there", status)
		}))
		t.Cleanup(server.Close)
		h := to(server.URL, external.None())
		if r := h.Submit(t.Context(), external.Submission{Key: "k", Input: order}); r.End != operation.Lost || r.Status != status {
			t.Errorf("%+v, want lost with %d", r, status)
		}
	}
	if followed.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// to is a client that sends the input to url.
func to(url string, p external.Profile) *external.HTTP {
	return &external.HTTP{Profile: p, Build: func(ctx context.Context, s external.Submission) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, "", url, strings.NewReader(string(s.Input)))
	}}
}

// TestLargeAnswers are read within bounds: where the status says it all that is
// enough, where the body must decode it is not.
func TestLargeAnswers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"id":"ch_1","more":"`)
		for block := strings.Repeat("x", 1<<16); r.Context().Err() == nil; { // without end
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	if r := to(server.URL, external.AtLeastOnce()).Submit(t.Context(), external.Submission{Key: "k"}); r.End != operation.Confirmed || len(r.Body) != operation.MaxAnswer {
		t.Errorf("%v with %d bytes, want confirmed with %d", r.End, len(r.Body), operation.MaxAnswer)
	}
	if r := to(server.URL, external.StripeV1()).Submit(t.Context(), external.Submission{Key: "k"}); r.End != operation.Lost {
		t.Errorf("%v, want lost", r.End)
	}
}

// TestConcurrentSubmissions share one client and its connections.
func TestConcurrentSubmissions(t *testing.T) {
	t.Parallel()
	s, h := bank(t, nil, "")
	h.KeepAlive = true
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			key, gate := fmt.Sprint("k-", i), error(nil)
			if i%4 == 3 {
				gate = errors.New("closed")
			}
			r := h.Submit(t.Context(), external.Submission{Key: key, Input: order, Gate: func() error { return gate }})
			charges := s.Report(key).Charges
			if gate != nil && (r.End != operation.NotSent || len(charges) != 0) {
				t.Errorf("%+v with %d charges, want not sent", r, len(charges))
			}
			if gate == nil && (r.End != operation.Confirmed || len(charges) != 1 || charges[0].ID != r.Reference) {
				t.Errorf("%+v with %v, want its own charge", r, charges)
			}
		})
	}
	all.Wait()
	if s.Requests() != 30 {
		t.Errorf("%d requests, want 30", s.Requests())
	}
}
