package refrainhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

func (s *shop) ask(target string, fields ...string) *http.Response {
	r := httptest.NewRequest("GET", target, nil)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	return s.do(r)
}

const byKey = "/v1/operations?operation=orders.create"

func TestStatus(t *testing.T) {
	t.Parallel()
	s := open(t, orders, place)
	first := s.post(secretKey)
	ref := first.Header.Get("Idempotency-Ref")
	want := `{"ref":"` + ref + `","operation":"orders.create","state":"confirmed","created_at":"2026-03-14T12:00:00Z",` +
		`"replay_until":"2026-03-15T12:00:00Z","remember_until":"2026-04-13T12:00:00Z","effect":"/orders/17"}`
	for _, res := range []*http.Response{
		s.ask("/v1/operations/" + ref),
		s.ask(byKey, "Idempotency-Key", secretKey),
		s.ask(byKey, "Idempotency-Key", `"`+secretKey+`"`),
	} {
		if got := text(t, res); res.StatusCode != 200 || got != want || res.Header.Get("Content-Type") != "application/json" ||
			res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("Idempotency-Status") != "" {
			t.Errorf("status = %d %s %v\nwant %s", res.StatusCode, got, res.Header, want)
		}
	}
	s.wantEffects(1)
}

// TestStatusHides: somebody else's, unknown, malformed and forgotten are one answer.
func TestStatusHides(t *testing.T) {
	t.Parallel()
	s := open(t, orders, place)
	ref := s.post(secretKey).Header.Get("Idempotency-Ref")
	other := s.post("k", "Authorization", "south").Header.Get("Idempotency-Ref")
	refund := orders
	refund.Operation = "orders.refund"
	elsewhere := &shop{t: t, db: s.db, http: refrainhttp.Handle(guard, s.db, refund, place)}
	unlisted := elsewhere.post("k").Header.Get("Idempotency-Ref")
	answers := map[string]string{}
	for name, res := range map[string]*http.Response{
		"foreign":   s.ask("/v1/operations/" + other),
		"unlisted":  s.ask("/v1/operations/" + unlisted),
		"unknown":   s.ask("/v1/operations/" + record.NewRef(noon)),
		"malformed": s.ask("/v1/operations/op_x%27%20OR%201"),
		"forgotten": func() *http.Response { s.pass(31 * 24 * time.Hour); return s.ask("/v1/operations/" + ref) }(),
	} {
		doc := wantProblem(t, res, 404, "not-found")
		doc.Instance, doc.Retryable = "", nil
		b, _ := json.Marshal(doc)
		answers[name] = string(b)
	}
	for name, doc := range answers {
		if doc != answers["foreign"] {
			t.Errorf("%s = %s, foreign = %s", name, doc, answers["foreign"])
		}
	}
	for _, res := range []*http.Response{
		s.ask(byKey, "Idempotency-Key", "k"),
		s.ask(byKey, "Idempotency-Key", secretKey), // forgotten by now
		s.ask("/v1/operations?operation=orders.delete", "Idempotency-Key", secretKey),
	} {
		if doc := wantProblem(t, res, 404, "not-found"); !strings.Contains(doc.Detail, "no evidence") {
			t.Errorf("detail = %s", doc.Detail)
		}
	}
}

func TestStatusRefuses(t *testing.T) {
	t.Parallel()
	s := open(t, orders, place)
	ref := s.post(secretKey).Header.Get("Idempotency-Ref")
	wantProblem(t, s.ask("/v1/operations/"+ref, "Authorization", "nobody"), 401, "principal-missing")
	wantProblem(t, s.ask("/v1/operations/"+ref, "Authorization", "guest"), 403, "forbidden")
	wantProblem(t, s.ask(byKey), 400, "key-missing")
	wantProblem(t, s.ask(byKey, "Idempotency-Key", "a", "Idempotency-Key", "a"), 400, "key-invalid")
	if res := s.do(httptest.NewRequest("POST", "/v1/operations", nil)); res.StatusCode != 405 || res.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST = %d %v", res.StatusCode, res.Header)
	}
	if err := s.db.Tamper(t.Context(), identity(secretKey), func(rec *record.Record) { rec.Format = 0 }); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, s.ask("/v1/operations/"+ref), 500, "record-unreadable")
	_ = s.db.Close()
	wantProblem(t, s.ask("/v1/operations/"+ref), 503, "store-unavailable")
	wantProblem(t, s.ask(byKey, "Idempotency-Key", secretKey), 503, "store-unavailable")
}

func TestStatusOfUnfinished(t *testing.T) {
	t.Parallel()
	s := open(t, orders, place)
	unfinished(record.Unknown, 0)(s)
	body := text(t, s.ask(byKey, "Idempotency-Key", secretKey))
	if !strings.Contains(body, `"state":"unknown"`) || strings.Contains(body, "replay_until") {
		t.Errorf("unknown = %s", body)
	}
	s = open(t, orders, place)
	tamper(s, func(rec *record.Record) { rec.Disputed = true })
	if body := text(t, s.ask(byKey, "Idempotency-Key", secretKey)); !strings.Contains(body, `"disputed":true`) {
		t.Errorf("disputed = %s", body)
	}
}

// holding is a store that sees a live claim.
type holding struct{ *memstore.DB }

func (h holding) Load(ctx context.Context, id record.Identity) (record.Seen, time.Time, error) {
	return record.Seen{Held: true}, noon, nil
}

func TestStatusOfHeld(t *testing.T) {
	t.Parallel()
	s := &shop{t: t, http: refrainhttp.Status(guard, holding{memstore.New(memstore.Options{})}, orders)}
	res := s.ask(byKey, "Idempotency-Key", secretKey)
	if got := text(t, res); res.StatusCode != 200 || got != `{"operation":"orders.create","state":"submitted"}` || res.Header.Get("Retry-After") != "1" {
		t.Errorf("held = %d %s", res.StatusCode, got)
	}
}

// knowing is a store with horizons.
type knowing struct {
	*memstore.DB
	err error
}

func (k knowing) Horizon(_ context.Context, operation string) (time.Time, error) {
	if operation == orders.Operation {
		return noon, k.err
	}
	return time.Time{}, k.err
}

func TestWellKnown(t *testing.T) {
	t.Parallel()
	refund := orders
	refund.Operation = "orders.refund"
	s := &shop{t: t, http: refrainhttp.WellKnown(refrainhttp.Guard{Header: "x-key"}, knowing{}, orders, refund)}
	res := s.ask(refrainhttp.WellKnownPath)
	var doc struct {
		Key       struct{ Header string }
		Problems  string
		Contracts []struct {
			Operation string
			ReplayFor string `json:"replay_for"`
		}
		Horizons  map[string]time.Time
		Decisions []struct{ Row, Problem, When, Effect string }
	}
	if err := json.Unmarshal([]byte(text(t, res)), &doc); err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/json" || doc.Key.Header != "X-Key" ||
		doc.Problems != refrainhttp.DefaultProblemBase || len(doc.Contracts) != 2 || doc.Contracts[0].ReplayFor != "P1D" ||
		len(doc.Horizons) != 1 || !doc.Horizons["orders.create"].Equal(noon) {
		t.Errorf("document = %d %+v", res.StatusCode, doc)
	}
	published := map[string]bool{}
	for _, d := range doc.Decisions {
		published[d.Problem] = true
		if d.Row == "" || d.When == "" || d.Effect == "" {
			t.Errorf("row %+v is not whole", d)
		}
	}
	for _, p := range record.Problems() {
		if !published[string(p)] && p != record.HandlerFailed {
			t.Errorf("%s is not published", p)
		}
	}
	s.http = refrainhttp.WellKnown(refrainhttp.Guard{}, nil, orders)
	if res := s.ask(refrainhttp.WellKnownPath); res.StatusCode != 200 || strings.Contains(text(t, res), "horizons") {
		t.Errorf("without a store = %d", res.StatusCode)
	}
	s.http = refrainhttp.WellKnown(refrainhttp.Guard{}, knowing{err: errors.New("down")}, orders)
	wantProblem(t, s.ask(refrainhttp.WellKnownPath), 503, "store-unavailable")
}
