package refrainhttp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"
)

func TestStartUp(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{})
	bad, safe := orders, orders
	bad.RememberFor = 1
	safe.Methods = []string{"POST", "GET"}
	for want, start := range map[string]func(){
		"Guard.Principal":         func() { refrainhttp.Handle(refrainhttp.Guard{}, db, orders, place) },
		"Contract.RememberFor":    func() { refrainhttp.Handle(guard, db, bad, place) },
		"Contract.Methods":        func() { refrainhttp.Handle(guard, db, safe, place) },
		"executor":                func() { refrainhttp.Handle[memstore.Tx](guard, nil, orders, place) },
		"handler":                 func() { refrainhttp.Handle[memstore.Tx](guard, db, orders, nil) },
		"StatusPath":              func() { refrainhttp.Status(refrainhttp.Guard{Principal: guard.Principal}, db, orders) },
		"contracts":               func() { refrainhttp.Status(guard, db) },
		"Contract.RememberFor of": func() { refrainhttp.WellKnown(guard, nil, bad) },
		"Principal is missing":    func() { refrainhttp.Status(refrainhttp.Guard{StatusPath: "/s"}, db, orders) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panic %q does not name %s", got, want)
				}
			}()
			start()
		}()
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	c := orders
	s := open(t, c, place)
	for method, status := range map[string]int{"POST": 201, "PATCH": 201, "GET": 405, "HEAD": 405, "PUT": 405, "DELETE": 405, "OPTIONS": 204} {
		r := request(secretKey+method, smallOrder)
		r.Method = method
		if method == "OPTIONS" {
			r.Header.Del("Idempotency-Key")
			r.Header.Set("Authorization", "nobody")
		}
		res := s.do(r)
		if res.StatusCode != status || status != 201 && res.Header.Get("Allow") != "OPTIONS, PATCH, POST" {
			t.Errorf("%s = %d %v", method, res.StatusCode, res.Header)
		}
	}
	s.wantEffects(2)
	c.Methods = []string{"PUT", "DELETE"}
	s = open(t, c, place)
	for method, status := range map[string]int{"POST": 405, "PUT": 201, "DELETE": 201} {
		r := request(secretKey+method, smallOrder)
		r.Method = method
		if res := s.do(r); res.StatusCode != status {
			t.Errorf("%s = %d, want %d", method, res.StatusCode, status)
		}
	}
}

// TestOrder: nothing is looked up or read for a caller who is refused, and no
// answer differs by what is stored.
func TestOrder(t *testing.T) {
	t.Parallel()
	s := open(t, orders, place)
	s.post(secretKey)
	_ = s.db.Close() // any lookup now is a 503
	for who, status := range map[string]int{"nobody": 401, "guest": 403, "outage": 503, "empty": 503} {
		r := request(secretKey, "")
		r.Body, r.ContentLength = unread{t}, -1
		r.Header.Set("Authorization", who)
		if res := s.do(r); res.StatusCode != status {
			t.Errorf("%s = %d", who, res.StatusCode)
		}
	}
	r := request(`"broken`, "")
	r.Body, r.ContentLength = unread{t}, -1
	wantProblem(t, s.do(r), 400, "key-invalid")
	wantProblem(t, s.do(request("k", `{"a":1,"a":2}`)), 400, "body-not-canonical")
	wantProblem(t, s.post("k"), 503, "store-unavailable")
}

// unread is a body nobody may read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, fmt.Errorf("read")
}
func (unread) Close() error { return nil }

func TestScopesAreApart(t *testing.T) {
	t.Parallel()
	s := open(t, orders, place)
	a, b := s.post(secretKey, "Authorization", "north"), s.do(request(secretKey, `{"other":1}`, "Authorization", "south"))
	if a.StatusCode != 201 || b.StatusCode != 201 || b.Header.Get("Idempotent-Replayed") != "" || a.Header.Get("Idempotency-Ref") == b.Header.Get("Idempotency-Ref") {
		t.Errorf("answers = %d %d %v", a.StatusCode, b.StatusCode, b.Header)
	}
	s.wantEffects(2)
}

func TestRevokedCallerGetsNoReplay(t *testing.T) {
	t.Parallel()
	s := open(t, orders, place)
	s.post(secretKey)
	wantProblem(t, s.post(secretKey, "Authorization", "nobody"), 401, "principal-missing")
}

func TestKeysOnTheWire(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 255)
	tests := []struct {
		strict bool
		first  string
		second []string // further lines sent as the second request
		same   bool     // the second is a replay of the first
		status int      // of the second, where it is no replay
	}{
		{false, "abc", []string{`"abc"`}, true, 0},
		{false, "abc", []string{` "abc" `}, true, 0},
		{false, "abc", []string{`"abc";p=1`}, true, 0},
		{false, "abc", []string{"ABC"}, false, 201},
		{false, "abc", []string{"'abc'"}, false, 201},
		{false, "abc", []string{`"abc`}, false, 400},
		{false, "abc", []string{"abc", "abc"}, false, 400},
		{false, "abc", []string{`"abc"`, `"abd"`}, false, 400},
		{false, "abc", []string{"abc,abd"}, false, 400},
		{false, long, []string{long}, true, 0},
		{false, long, []string{long + "x"}, false, 400},
		{false, "abc", []string{strings.Repeat("x", 8192)}, false, 400},
		{false, `"a\"b"`, []string{`"a\"b"`}, true, 0},
		{false, "a%62c", []string{"abc"}, false, 201},
		{false, "1' OR '1'='1", nil, false, 400},
		{false, `"1' OR '1'='1"`, []string{`"1' OR '1'='1"`}, true, 0},
		{false, "../../x", []string{"../../x"}, true, 0},
		{false, "${jndi:x}", []string{"*"}, false, 201},
		{true, `"abc"`, []string{"abc"}, false, 400},
		{true, `"abc"`, []string{`"abc"`}, true, 0},
	}
	for _, tt := range tests {
		db := memstore.New(memstore.Options{})
		g := guard
		g.Strict = tt.strict
		s := &shop{t: t, db: db, http: refrainhttp.Handle(g, db, orders, place)}
		first := s.post(tt.first)
		if tt.second == nil {
			wantProblem(t, first, tt.status, "key-invalid")
			continue
		}
		r := request("", smallOrder)
		r.Header["Idempotency-Key"] = tt.second
		res := s.do(r)
		if replayed := res.Header.Get("Idempotent-Replayed") == "true"; replayed != tt.same || !tt.same && res.StatusCode != tt.status {
			t.Errorf("%q then %q = %d, replayed %t", tt.first, tt.second, res.StatusCode, replayed)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{})
	g := refrainhttp.Guard{
		Principal: guard.Principal, Header: "x-request-key", ReplayedHeader: "x-again", Challenge: `Basic realm="shop"`,
		ProblemBase: "https://shop.example/p", Actor: func(*http.Request) string { return "user-7" },
	}
	s := &shop{t: t, db: db, http: refrainhttp.Handle(g, db, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		w.Header().Set("X-Again", "forged")
		return place(w, r, tx)
	})}
	for i := range 2 {
		res := s.post("", "X-Request-Key", "k")
		if want := []string{"", "true"}[i]; res.StatusCode != 201 || res.Header.Get("X-Again") != want {
			t.Errorf("answer %d = %d %v", i, res.StatusCode, res.Header)
		}
	}
	if rec := s.newest(); rec.Actor != "user-7" {
		t.Errorf("actor = %q", rec.Actor)
	}
	res := s.post("", "Authorization", "nobody")
	if res.Header.Get("WWW-Authenticate") != `Basic realm="shop"` || !strings.Contains(text(t, res), `"https://shop.example/p#principal-missing"`) {
		t.Errorf("refusal = %v", res.Header)
	}
	res = s.post("")
	if body := text(t, res); strings.Contains(body, "status_url") {
		t.Errorf("without a StatusPath: %s", body)
	}
}
