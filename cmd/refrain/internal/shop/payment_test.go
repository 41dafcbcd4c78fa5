package shop

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/enginetest"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/timeline"
	"github.com/refrain-dev/refrain/fakeprovider"
	"github.com/refrain-dev/refrain/operation"
)

// patient is a shop whose requests wait for their outcome.
var patient = Config{ReplayFor: time.Hour, RememberFor: 24 * time.Hour, Wait: 20 * time.Second}

// runShop opens a shop whose charges are carried out until the test ends.
func runShop(t *testing.T, at engine.Place, config Config) *Shop {
	t.Helper()
	s := openShop(t, at, config)
	s.runs(t)
	return s
}

// runs carries charges out until the test ends.
func (s *Shop) runs(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() { // before the database is closed
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

const annas = `{"account":"anna","amount":1250,"currency":"EUR"}`

func (s *Shop) pays(t *testing.T, key, body string, prefer ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest("POST", "/v1/payments", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+north)
	r.Header.Set("Idempotency-Key", key)
	r.Header.Set("Content-Type", "application/json")
	if len(prefer) > 0 {
		r.Header.Set("Prefer", prefer[0])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// switched sets the provider's switches by the page's form.
func (s *Shop) switched(t *testing.T, form string) {
	t.Helper()
	wantStatus(t, s.posts(t, providerPath, form), http.StatusSeeOther)
}

func (s *Shop) posts(t *testing.T, path, form string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest("POST", path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

type actionDoc struct {
	Ref, State string
	External   []timeline.Timeline
}

// settled asks by ref and waits for the outcome.
func (s *Shop) settled(t *testing.T, ref string) actionDoc {
	t.Helper()
	r := httptest.NewRequest("GET", "/v1/operations/"+ref, nil)
	r.Header.Set("Authorization", "Bearer "+north)
	r.Header.Set("Prefer", "wait=10")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return decode[actionDoc](t, w, http.StatusOK)
}

func (s *Shop) paymentsOf(t *testing.T, token string) (list struct {
	Count    int
	Payments []payment
}) {
	t.Helper()
	w := s.get(t, token, "/v1/payments")
	return decode[struct {
		Count    int
		Payments []payment
	}](t, w, http.StatusOK)
}

// TestPaymentSettledInBand: the first answer is the stored one, and a repeat is
// that byte for byte.
func TestPaymentSettledInBand(t *testing.T) {
	enginetest.Each(t, enginetest.Engines, func(t *testing.T, db string) {
		s := runShop(t, enginetest.Place(t, db), patient)
		first := s.pays(t, "k", annas)
		made := decode[payment](t, first, http.StatusCreated)
		if made.State != paid || made.Charge == "" || made.Account != "anna" || made.Amount != 1250 || first.Header().Get("Location") != "/v1/payments/"+made.ID {
			t.Errorf("answered %+v %v", made, first.Header())
		}
		again := s.pays(t, "k", `{"currency":"EUR","amount":1250.0,"account":"anna"}`)
		if again.Code != http.StatusCreated || again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("the repeat got %d %s, first %s", again.Code, again.Body, first.Body)
		}
		listed := s.paymentsOf(t, north)
		if listed.Count != 1 || listed.Payments[0].State != paid || listed.Payments[0].Charge != made.Charge || listed.Payments[0].Ref != first.Header().Get("Idempotency-Ref") {
			t.Errorf("listed %+v", listed)
		}
		if one := decode[payment](t, s.get(t, north, "/v1/payments/"+made.ID), http.StatusOK); one != listed.Payments[0] {
			t.Errorf("read %+v, listed %+v", one, listed.Payments[0])
		}
		wantProblem(t, s.get(t, south, "/v1/payments/"+made.ID), http.StatusNotFound, "not-found")
		if others := s.paymentsOf(t, south); others.Count != 0 {
			t.Errorf("the other tenant has %+v", others)
		}
		if n := len(s.till.bank.Charges()); n != 1 {
			t.Errorf("%d charges, want 1", n)
		}
	})
}

// TestPaymentDeclined: the provider's refusal is the recorded result.
func TestPaymentDeclined(t *testing.T) {
	t.Parallel()
	s := runShop(t, newFile(t), patient)
	const body = `{"account":"declined-7","amount":1,"currency":"EUR"}`
	first := s.pays(t, "k", body)
	wantProblem(t, first, http.StatusPaymentRequired, "payment-declined")
	if again := s.pays(t, "k", body); again.Code != first.Code || again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat got %d %s", again.Code, again.Body)
	}
	if doc := s.settled(t, first.Header().Get("Idempotency-Ref")); doc.State != "rejected" || doc.External[0].Attempts[0].End != "refused" {
		t.Errorf("the action is %+v", doc)
	}
	if listed := s.paymentsOf(t, north); listed.Payments[0].State != refused || len(s.till.bank.Charges()) != 0 {
		t.Errorf("listed %+v", listed)
	}
}

// TestPaymentWhoseAnswerIsLost: it is asked for where the provider can be asked,
// and repeated where it knows the key again; either way it is charged once.
func TestPaymentWhoseAnswerIsLost(t *testing.T) {
	enginetest.Each(t, enginetest.Engines, func(t *testing.T, db string) {
		s := runShop(t, enginetest.Place(t, db), patient)
		for i, tt := range []struct {
			form     string
			attempts int
		}{
			{"fault=lose-answer&once=true&window=0s&query=true", 1},
			{"fault=lose-answer&once=true&window=24h&query=false", 2},
			{"fault=cut-answer&once=true&window=30s&query=false", 2},
			{"fault=fail-after&once=true", 1},
			{"fault=fail-before&once=true", 2},
		} {
			s.switched(t, tt.form)
			first := s.pays(t, tt.form, annas, "wait=0")
			wantStatus(t, first, http.StatusAccepted)
			ref := first.Header().Get("Idempotency-Ref")
			if first.Header().Get("Location") != "/v1/operations/"+ref {
				t.Errorf("%s: Location %q", tt.form, first.Header().Get("Location"))
			}
			doc := s.settled(t, ref)
			if doc.State != "confirmed" || len(doc.External) != 1 {
				t.Fatalf("%s: the action is %+v", tt.form, doc)
			}
			if o := doc.External[0]; len(o.Attempts) != tt.attempts || o.Attempts[0].End != "lost" || o.Attempts[0].Note == "" || o.Answer == nil {
				t.Errorf("%s: the operation is %+v", tt.form, o)
			}
			again := s.pays(t, tt.form, annas)
			if made := decode[payment](t, again, http.StatusCreated); made.State != paid || again.Header().Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s: the repeat got %+v %v", tt.form, made, again.Header())
			}
			if n := len(s.till.bank.Charges()); n != i+1 {
				t.Errorf("%s: %d charges, want %d", tt.form, n, i+1)
			}
		}
	})
}

// TestPaymentNobodyCanKnow stays unknown, is charged once, and waits for a person
// with what is known of it.
func TestPaymentNobodyCanKnow(t *testing.T) {
	t.Parallel()
	config := patient
	config.Wait, config.Database = time.Second, "sqlite:shop.db"
	s := runShop(t, newFile(t), config)
	s.switched(t, "fault=lose-answer&once=true&window=0s&query=false")
	first := s.pays(t, "k", annas)
	wantStatus(t, first, http.StatusAccepted)
	if first.Header().Get("Idempotency-Status") != "outcome-unknown" || !strings.Contains(first.Body.String(), `"state":"unknown"`) {
		t.Errorf("answered %s %v", first.Body, first.Header())
	}
	ref := wantProblemRef(t, s.pays(t, "k", annas), "outcome-unknown")
	if page := s.page(t); !strings.Contains(page, "lists charge ch_000001") ||
		!strings.Contains(page, "refrain ops resolve "+ref+" --db sqlite:shop.db --as confirmed --status 201 --effect ch_000001 --reason &#39;the provider lists the charge&#39;") {
		t.Error("the page does not tell what a person may conclude")
	}
	if n, m := len(s.till.bank.Charges()), s.till.bank.Requests(); n != 1 || m != 1 {
		t.Errorf("%d charges by %d requests, want 1 and 1", n, m)
	}
	// The provider promises more from now on: a machine still leaves it to the person.
	s.switched(t, "")
	if n := len(s.till.bank.Charges()); n != 1 {
		t.Errorf("%d charges after the promises changed", n)
	}
}

// TestPaymentAsync: a repeat of what is not settled is its state.
func TestPaymentAsync(t *testing.T) {
	t.Parallel()
	config := patient
	config.Wait, config.Async = -1, true
	s := openShop(t, newFile(t), config)
	wantStatus(t, s.pays(t, "k", annas), http.StatusAccepted)
	again := s.pays(t, "k", annas)
	wantStatus(t, again, http.StatusAccepted)
	if !strings.Contains(again.Body.String(), `"state":"accepted"`) || again.Header().Get("Location") == "" {
		t.Errorf("the repeat got %s", again.Body)
	}
	s.runs(t)
	if doc := s.settled(t, again.Header().Get("Idempotency-Ref")); doc.State != "confirmed" {
		t.Errorf("the action is %+v", doc)
	}
	wantStatus(t, s.pays(t, "k", annas), http.StatusCreated)
}

// TestInvalidPaymentLeavesItsKeyFree and accepts nothing.
func TestInvalidPaymentLeavesItsKeyFree(t *testing.T) {
	t.Parallel()
	s := openShop(t, newFile(t), usual)
	for i, body := range []string{
		`[]`, `{"account":"a","amount":1}`, `{"account":"a","currency":"EUR"}`, `{"amount":1,"currency":"EUR"}`, `{"account":"","amount":1,"currency":"EUR"}`,
		`{"account":"a","amount":0,"currency":"EUR"}`, `{"account":"a","amount":1.5,"currency":"EUR"}`, `{"account":"a","amount":1,"currency":"eur"}`,
		`{"account":"a","amount":1,"currency":"EURO"}`, `{"account":"a","amount":1,"currency":"EUR","note":1}`, `{"account":"a","amount":1,"currency":7}`,
	} {
		key := "k-" + string(rune('a'+i))
		wantProblem(t, s.pays(t, key, body), http.StatusBadRequest, "invalid-payment")
		wantStatus(t, s.pays(t, key, annas), http.StatusAccepted)
	}
	q := request{"POST", "/v1/payments", "Bearer " + north, "k-media", "text/plain", annas}
	wantProblem(t, s.answers(t, q), http.StatusUnsupportedMediaType, "unsupported-media-type")
	all, err := s.db.Operations().List(context.Background(), operation.Operation{}, 100)
	if err != nil || len(all) != 11 {
		t.Errorf("%d operations, %v", len(all), err)
	}
}

// TestActionIsTheCallersOwn: a foreign and an unknown ref get the same answer, and
// neither waits.
func TestActionIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	s := openShop(t, newFile(t), usual)
	made := s.pays(t, "k", annas)
	ref := made.Header().Get("Idempotency-Ref")
	all, err := s.db.Operations().Of(context.Background(), ref)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	ask := func(token, target string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", target, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Prefer", "wait=10")
		ctx, end := context.WithTimeout(r.Context(), time.Minute)
		defer end()
		if token == north && strings.HasSuffix(target, ref) {
			end() // it would wait
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r.WithContext(ctx))
		return w
	}
	foreign := ask(south, "/v1/operations/"+ref)
	unknown := ask(south, "/v1/operations/op_"+strings.Repeat("0", 29))
	operationRef := ask(north, "/v1/operations/"+all[0].Ref)
	same := wantProblem(t, foreign, http.StatusNotFound, "not-found")
	for _, w := range []*httptest.ResponseRecorder{unknown, operationRef} {
		if doc := wantProblem(t, w, http.StatusNotFound, "not-found"); doc != same || w.Body.Len() != foreign.Body.Len() {
			t.Errorf("answered %s, and %s", w.Body, foreign.Body)
		}
	}
	own := s.get(t, north, "/v1/operations/"+ref)
	if doc := decode[actionDoc](t, own, http.StatusOK); doc.State != "accepted" || len(doc.External) != 1 || doc.External[0].Step != "charge" || doc.External[0].Ref != all[0].Ref {
		t.Errorf("own %+v", doc)
	}
	if text := own.Body.String(); strings.Contains(text, all[0].Key) || strings.Contains(text, "anna") {
		t.Errorf("%s tells the key or the payload", text)
	}
}

// TestSwitches takes what the form offers and nothing else.
func TestSwitches(t *testing.T) {
	t.Parallel()
	s := runShop(t, newFile(t), usual)
	for _, form := range []string{
		"fault=explode", "delay=1h", "delay=x", "window=1s", "window=x", "query=perhaps", "once=x", "fault=" + strings.Repeat("x", maxForm),
	} {
		wantStatus(t, s.posts(t, providerPath, form), http.StatusBadRequest)
	}
	wantStatus(t, s.posts(t, providerPath, "fault=lose-answer", "Sec-Fetch-Site", "cross-site"), http.StatusForbidden)
	usually := decode[switchesDoc](t, s.answers(t, request{method: "GET", target: providerPath}), http.StatusOK)
	if want := (switchesDoc{Provider: s.till.name, Delay: "0s", Window: "24h0m0s", Query: true}); usually != want {
		t.Errorf("at first %+v, want %+v", usually, want)
	}
	s.switched(t, "fault=fail-after&once=true&delay=1s&window=30s&query=false")
	now := decode[switchesDoc](t, s.answers(t, request{method: "GET", target: providerPath}), http.StatusOK)
	if want := (switchesDoc{Provider: s.till.name, Fault: string(fakeprovider.FailAfter), Times: 1, Delay: "1s", Window: "30s"}); now != want {
		t.Errorf("then %+v, want %+v", now, want)
	}
	for _, want := range []string{
		`<option value="fail-after" selected>`, `<option value="1s" selected>`, `<option value="30s" selected>`, `<option value="false" selected>no`, `<option value="true" selected>the next one`,
	} {
		if !strings.Contains(s.page(t), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// TestPagePays: the form sends a payment, and the page shows how it went.
func TestPagePays(t *testing.T) {
	t.Parallel()
	s := runShop(t, newFile(t), patient)
	s.switched(t, "fault=lose-answer&once=true")
	wantStatus(t, s.posts(t, "/pay", "tenant=south&account=<b>berta</b>&amount=7&currency=EUR&again=same"), http.StatusSeeOther)
	tried := s.lastTrial()
	if len(tried.Sent) != 2 || tried.Sent[0].Status != 201 || tried.Sent[0].Replayed || tried.Sent[1].Status != 201 || !tried.Sent[1].Replayed {
		t.Errorf("sent %+v", tried.Sent)
	}
	all, err := s.db.Operations().List(context.Background(), operation.Operation{}, 10)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	page := s.page(t)
	for _, want := range []string{
		"has charged <strong>1</strong> time;", "&lt;b&gt;berta&lt;/b&gt;, 7 EUR", `<span class="state paid">paid</span>`, "attempt 1, +", `<span class="end">lost</span>`,
		"as <code>ch_000001</code>", all[0].Ref,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, all[0].Key) || strings.Contains(page, "<b>berta") {
		t.Error("the page shows a key or unescaped text")
	}
	wantStatus(t, s.posts(t, "/pay", "tenant=north&account=a&amount=x&currency=EUR&again=once"), http.StatusSeeOther)
	if tried := s.lastTrial(); len(tried.Sent) != 1 || tried.Sent[0].Status != 400 {
		t.Errorf("sent %+v", tried.Sent)
	}
	wantStatus(t, s.posts(t, "/pay", "tenant=north&account=a&amount=1&currency=EUR", "Sec-Fetch-Site", "cross-site"), http.StatusForbidden)
}
