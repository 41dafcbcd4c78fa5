package shop

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain"
)

func (s *Shop) page(t *testing.T) string {
	t.Helper()
	w := s.answers(t, request{method: "GET", target: "/"})
	wantStatus(t, w, http.StatusOK)
	return w.Body.String()
}

func TestPageShowsTheStateAndNoKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	key := FreshKey()
	made := s.order(t, north, key, `{"sku":"<b>BOOK</b>","quantity":2}`)
	s.order(t, north, key, `{"sku":"other","quantity":2}`)
	s.order(t, south, "", `{"sku":"other","quantity":2}`)
	text := s.page(t)
	for _, want := range []string{
		made.Header().Get("Idempotency-Ref"), "confirmed", "tenant=north", "orders.create", "&lt;b&gt;BOOK&lt;/b&gt;", "execute", "key-reused", "key-missing",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, key) || strings.Contains(text, key[24:]) || strings.Contains(text, "<b>BOOK") {
		t.Error("the page shows a key or unescaped text")
	}
}

func TestPageIsStrict(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	w := s.answers(t, request{method: "GET", target: "/"})
	csp := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("policy %q lacks %q", csp, want)
		}
	}
	if strings.Contains(csp, "unsafe") || strings.Contains(w.Body.String(), "style=") || strings.Contains(w.Body.String(), "onclick") {
		t.Error("the page needs an unsafe policy")
	}
	for _, target := range []string{"/style.css", "/live.js"} {
		wantStatus(t, s.answers(t, request{method: "GET", target: target}), http.StatusOK)
	}
	wantStatus(t, s.answers(t, request{method: "GET", target: "/elsewhere"}), http.StatusNotFound)
}

// try posts the page's form.
func (s *Shop) tries(t *testing.T, form string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest("POST", "/try", strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestFormSendsTheSameOrderTwice(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	w := s.tries(t, "tenant=north&sku=BOOK&quantity=2.0&again=same")
	wantStatus(t, w, http.StatusSeeOther)
	if w.Header().Get("Location") != "/" {
		t.Errorf("sent on to %q", w.Header().Get("Location"))
	}
	tried := s.lastTrial()
	if len(tried.Sent) != 2 || tried.Sent[0].Status != 201 || tried.Sent[0].Replayed ||
		tried.Sent[1].Status != 201 || !tried.Sent[1].Replayed || tried.Sent[0].Ref == "" || tried.Sent[0].Ref != tried.Sent[1].Ref {
		t.Errorf("sent %+v", tried.Sent)
	}
	if n := s.count(t, north); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
	if text := s.page(t); !strings.Contains(text, `<span class="tag">replayed</span>`) || !strings.Contains(text, "What north just sent") {
		t.Error("the page does not show what was sent")
	}
}

func TestFormSendsAnotherOrderUnderTheSameKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	wantStatus(t, s.tries(t, "tenant=south&sku=BOOK&quantity=2&again=changed"), http.StatusSeeOther)
	if tried := s.lastTrial(); tried.Sent[0].Status != 201 || tried.Sent[1].Status != 422 {
		t.Errorf("sent %+v", tried.Sent)
	}
	wantStatus(t, s.tries(t, "tenant=south&sku=BOOK&quantity=02&again=same"), http.StatusSeeOther)
	if tried := s.lastTrial(); tried.Sent[0].Status != 400 || tried.Sent[1].Status != 400 || !strings.Contains(tried.Sent[0].Answer, "invalid-order") {
		t.Errorf("sent %+v", tried.Sent)
	}
}

func TestFormRefusesOtherSites(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	wantStatus(t, s.tries(t, "tenant=north&sku=A&quantity=1", "Sec-Fetch-Site", "cross-site"), http.StatusForbidden)
	wantStatus(t, s.tries(t, "tenant=east&sku=A&quantity=1"), http.StatusBadRequest)
	wantStatus(t, s.tries(t, "tenant=north&sku="+strings.Repeat("x", maxForm)), http.StatusBadRequest)
	if n := s.count(t, north); n != 0 {
		t.Errorf("%d orders, want 0", n)
	}
}

func TestDecisionsKeepsTheLast(t *testing.T) {
	t.Parallel()
	var d Decisions
	if last := d.Last(5); len(last) != 0 {
		t.Errorf("nothing happened, yet %v", last)
	}
	for i := range kept + 3 {
		d.Observe(context.Background(), refrain.Event{Row: string(rune('A' + i))})
	}
	last := d.Last(kept * 2)
	if len(last) != kept || last[0].Row != string(rune('A'+kept+2)) || last[kept-1].Row != string(rune('A'+3)) {
		t.Errorf("%d kept, from %q to %q", len(last), last[0].Row, last[len(last)-1].Row)
	}
	if two := d.Last(2); len(two) != 2 || two[0].Row != last[0].Row {
		t.Errorf("the last two are %v", two)
	}
}
