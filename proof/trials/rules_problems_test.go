package trials

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// refusals are requests the guard refuses, each on a shop where order is
// recorded under "secret-done" and another under way under "secret-held".
var refusals = []struct {
	name             string
	problem          string
	status           int
	key, body, who   string
	wait             string
	correctable      bool // the client must change the request
	contentEncodings string
}{
	{name: "missing key", problem: "key-missing", status: 400, body: order, correctable: true},
	{name: "malformed key", problem: "key-invalid", status: 400, key: `"secret`, body: order, correctable: true},
	{name: "another request", problem: "key-reused", status: 422, key: "secret-done", body: `{"secret":1}`, correctable: true},
	{name: "in progress", problem: "in-progress", status: 409, key: "secret-held", body: order, wait: "wait=0"},
	{name: "no principal", problem: "principal-missing", status: 401, key: "secret", body: order, who: "revoked", correctable: true},
	{name: "not allowed", problem: "forbidden", status: 403, key: "secret", body: order, who: "guest", correctable: true},
	{name: "too large", problem: "body-too-large", status: 413, key: "secret", body: strings.Repeat(" secret", 300), correctable: true},
	{name: "a name twice", problem: "body-not-canonical", status: 400, key: "secret", body: `{"secret":1,"secret":2}`, correctable: true},
	{name: "no gzip", problem: "body-not-canonical", status: 400, key: "secret", body: "secret", contentEncodings: "gzip", correctable: true},
	{name: "from the future", problem: "key-from-future", status: 400, key: uuidBornAt(noon.Add(time.Hour)), body: order, correctable: true},
}

// TestRulesOfProblems: every refusal has the form of RFC 9457 and RFC 9110,
// leads to documentation, shows no key and no payload, executes nothing, and
// comes again when the request is not corrected.
func TestRulesOfProblems(t *testing.T) {
	t.Parallel()
	run, gated := newGate(), false
	c := orders
	c.MaxBody = 1000
	s := open(t, newFile, guard, c, func(w http.ResponseWriter, r *http.Request, put func() error) error {
		if gated {
			return run.create(w, r, put)
		}
		return create(w, r, put)
	})
	wantFresh(t, s.post("secret-done", order), 201)
	gated = true
	held := make(chan answer, 1)
	go func() { held <- s.post("secret-held", order) }()
	<-run.inside
	types := map[any]string{}
	extension := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{2,}$`)
	for _, tt := range refusals {
		for range 2 {
			a := s.post(tt.key, tt.body, "Prefer", tt.wait, "Authorization", tt.who, "Content-Encoding", tt.contentEncodings)
			doc := wantProblem(t, a, tt.status, tt.problem)
			wantDescribed(t, a, doc)
			if known, met := types[doc["type"]]; met && known != tt.problem {
				t.Errorf("%s and %s share the type %v", known, tt.problem, doc["type"])
			}
			types[doc["type"]] = tt.problem
			if at, err := url.Parse(fmt.Sprint(doc["type"])); err != nil || !at.IsAbs() {
				t.Errorf("%s: type %v", tt.name, doc["type"])
			}
			if at, err := url.Parse(fmt.Sprint(doc["instance"])); err != nil || at.Scheme != "urn" {
				t.Errorf("%s: instance %v", tt.name, doc["instance"])
			}
			for _, text := range []string{"title", "detail"} {
				if value, ok := doc[text].(string); !ok || value == "" {
					t.Errorf("%s: %s = %v", tt.name, text, doc[text])
				}
			}
			if doc["status"] != float64(a.status) || a.header.Get("Content-Type") != "application/problem+json" || a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: status %v, header %v", tt.name, doc["status"], a.header)
			}
			for member := range doc {
				if !extension.MatchString(member) {
					t.Errorf("%s: member %q", tt.name, member)
				}
			}
			if shown := fmt.Sprint(a.body, a.header); strings.Contains(shown, "secret") || tt.key != "" && strings.Contains(shown, tt.key) {
				t.Errorf("%s shows key or payload: %s", tt.name, shown)
			}
			if retry := a.header.Get("Retry-After") != ""; doc["retryable"] != !tt.correctable || retry == tt.correctable {
				t.Errorf("%s: retryable %v, Retry-After %t", tt.name, doc["retryable"], retry)
			}
		}
	}
	if strings.Contains(s.log.String(), "secret") {
		t.Errorf("the log shows key or payload: %s", s.log.String())
	}
	close(run.goOn)
	wantFresh(t, <-held, 201)
	s.wantEffects(2)
}

// TestRulesOfExpiry: the promise is published, in words for machines, and kept
// to the microsecond; what happens after it is as published.
func TestRulesOfExpiry(t *testing.T) {
	t.Parallel()
	untimed, timed := "k", uuidBornAt(noon)
	s := open(t, newFile, guard, orders, create)
	published := s.send("GET", refrainhttp.WellKnownPath, "", "")
	for _, want := range []string{`"replay_for":"PT1H"`, `"remember_for":"P1D"`, "orders.create", `"header":"Idempotency-Key"`, "retry-too-late", "result-gone"} {
		if published.status != 200 || !strings.Contains(published.body, want) {
			t.Errorf("published is %s, without %s", published.body, want)
		}
	}
	first, second := s.post(untimed, order), s.post(timed, order)
	for name, after := range map[string]time.Duration{"Idempotency-Expires": time.Hour, "Idempotency-Remembered": 24 * time.Hour} {
		if want := "@" + decimal(noon.Add(after).Unix()); first.header.Get(name) != want {
			t.Errorf("%s = %s, want %s", name, first.header.Get(name), want)
		}
	}
	s.clock.pass(time.Hour - time.Microsecond)
	wantReplay(t, s.post(untimed, order), first)
	wantReplay(t, s.post(timed, order), second)
	s.clock.pass(time.Microsecond)
	for range 2 { // remembered, not replayed
		gone := s.post(untimed, order)
		doc := wantProblem(t, gone, 410, "result-gone")
		if doc["effect"] != first.header.Get("Location") || gone.header.Get("Content-Location") == "" {
			t.Errorf("gone = %v %v", doc, gone.header)
		}
	}
	wantProblem(t, s.post(untimed, other), 422, "key-reused")
	s.clock.pass(23*time.Hour - time.Microsecond)
	wantProblem(t, s.post(untimed, order), 410, "result-gone")
	s.wantEffects(2)
	s.clock.pass(time.Microsecond)
	again := s.post(untimed, order) // as published: an untimed key is new then
	wantFresh(t, again, 201)
	if again.header.Get("Idempotency-Ref") == first.header.Get("Idempotency-Ref") {
		t.Error("the new action has the old one's ref")
	}
	wantProblem(t, s.post(timed, order), 412, "retry-too-late") // and a timed one is refused
	if _, err := forget(t.Context(), s.store); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, s.post(timed, order), 412, "retry-too-late")
	s.wantEffects(3)
}

// TestRulesOfMethods: safe methods never meet a record; others are guarded as
// the contract says; an unprotected route takes no notice of a key.
func TestRulesOfMethods(t *testing.T) {
	t.Parallel()
	c := orders
	c.Methods = []string{"POST", "PUT", "PATCH", "DELETE"}
	at := &clock{now: noon}
	store := newFile(t, at.Now)
	s := &shop{t: t, store: store, clock: at, log: new(safeBuffer)}
	mux, plain, stock := http.NewServeMux(), 0, 1
	mux.Handle("/orders", store.guarded(guard, c, create))
	mux.HandleFunc("GET /stock", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, stock) })
	mux.HandleFunc("POST /plain", func(w http.ResponseWriter, r *http.Request) { plain++; _, _ = io.WriteString(w, "done") })
	s.mount(mux)
	for _, stock = range []int{1, 2, 3} {
		if a := s.send("GET", "/stock", "k", ""); a.body != fmt.Sprint(stock) || a.replayed() {
			t.Errorf("GET = %v", a)
		}
		if a := s.send("HEAD", "/stock", "k", ""); a.status != 200 || a.replayed() {
			t.Errorf("HEAD = %v", a)
		}
	}
	for n, method := range c.Methods {
		first := s.send(method, "/orders", method, order)
		wantFresh(t, first, 201)
		wantReplay(t, s.send(method, "/orders", method, order), first)
		s.wantEffects(n + 1)
	}
	for range 2 {
		if a := s.send("POST", "/plain", "k", order); a.status != 200 || a.header.Get("Idempotency-Ref") != "" {
			t.Errorf("unprotected = %v %v", a, a.header)
		}
	}
	if plain != 2 {
		t.Errorf("the unprotected handler ran %d times", plain)
	}
	for _, safe := range []string{"GET", "HEAD", "OPTIONS"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a contract may guard %s", safe)
				}
			}()
			wrong := refrain.Contract(c)
			wrong.Methods = []string{safe}
			store.guarded(guard, wrong, create)
		}()
	}
}
