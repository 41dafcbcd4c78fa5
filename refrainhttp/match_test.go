package refrainhttp_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// patterns are where the shop of these tests is mounted: one guard, many ways.
var patterns = []string{"POST /v2/orders", "/orders/{id}", "/orders/{id}/lines/{line...}", "/tree/", "PATCH /orders"}

// TestSameRequest: one key, two requests; either one action or a 422.
func TestSameRequest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		first, second string // method, target and body, cut by spaces
		contract      func(c *refrain.Contract)
		fields        [2]string // "Name: value" of the first and the second
		same          bool
	}{
		{name: "members reordered", first: `POST /orders {"a":1,"b":[1,2]}`, second: `POST /orders {"b":[1,2],"a":1}`, same: true},
		{name: "1.0 for 1, spaces, escapes", first: `POST /orders {"a":1,"b":"A"}`, second: "POST /orders { \"\\u0061\" : 1.0,\n\"b\":\"\\u0041\"}", same: true},
		{name: "charset", first: `POST /orders {}`, second: `POST /orders {}`, same: true,
			fields: [2]string{"Content-Type: application/json", "Content-Type: application/json; charset=utf-8"}},
		{name: "media type", first: `POST /orders {}`, second: `POST /orders {}`,
			fields: [2]string{"Content-Type: application/json", "Content-Type: text/plain"}},
		{name: "two media types", first: `POST /orders {}`, second: `POST /orders {}`,
			fields: [2]string{"Content-Type: application/json", "Content-Type: application/json\nContent-Type: text/plain"}},
		{name: "array order", first: `POST /orders [1,2]`, second: `POST /orders [2,1]`},
		{name: "large numbers", first: `POST /orders {"a":9007199254740993}`, second: `POST /orders {"a":9007199254740992}`},
		{name: "amount", first: `POST /orders {"a":10}`, second: `POST /orders {"a":20}`},
		{name: "empty, twice", first: `POST /orders `, second: `POST /orders `, same: true},
		{name: "empty and {}", first: `POST /orders `, second: `POST /orders {}`},
		{name: "empty and null", first: `POST /orders `, second: `POST /orders null`},
		{name: "method", first: `POST /orders {}`, second: `PATCH /orders {}`},
		{name: "pattern", first: `POST /orders {}`, second: `POST /v2/orders {}`},
		{name: "path value", first: `POST /orders/1 {}`, second: `POST /orders/2 {}`},
		{name: "path value, escaped otherwise", first: `POST /orders/a-b {}`, second: `POST /orders/a%2Db {}`, same: true},
		{name: "path values shifted", first: `POST /orders/a/lines/b%2Fc {}`, second: `POST /orders/a/lines/b/d {}`},
		{name: "subtree", first: `POST /tree/a {}`, second: `POST /tree/b {}`},
		{name: "query", first: `POST /orders?a=1 {}`, second: `POST /orders?a=2 {}`},
		{name: "query order", first: `POST /orders?a=1&b=2 {}`, second: `POST /orders?b=2&a=1 {}`, same: true},
		{name: "host", first: `POST http://a.example/orders {}`, second: `POST http://b.example/orders {}`, same: true},
		{name: "a field nobody chose", first: `POST /orders {}`, second: `POST /orders {}`, same: true, fields: [2]string{"X-Currency: EUR", "X-Currency: USD"}},
		{name: "a chosen field", first: `POST /orders {}`, second: `POST /orders {}`, fields: [2]string{"X-Currency: EUR", "X-Currency: USD"},
			contract: func(c *refrain.Contract) { c.Fields = []string{"x-currency"} }},
		{name: "raw by contract", first: `POST /orders {"a":1}`, second: `POST /orders { "a":1}`,
			contract: func(c *refrain.Contract) { c.Rule = fingerprint.RuleRaw }},
		{name: "meaning: only the sku", first: `POST /orders {"sku":"A","note":"x"}`, second: `POST /orders {"sku":"A","note":"y"}`, same: true, contract: bySKU},
		{name: "meaning: another sku", first: `POST /orders {"sku":"A"}`, second: `POST /orders {"sku":"B"}`, contract: bySKU},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := orders
			if tt.contract != nil {
				tt.contract(&c)
			}
			s := open(t, c, place, patterns...)
			first := s.do(line(tt.first, tt.fields[0]))
			body := text(t, first)
			if first.StatusCode != 201 {
				t.Fatalf("first = %d %s", first.StatusCode, body)
			}
			second := s.do(line(tt.second, tt.fields[1]))
			if tt.same {
				wantReplay(t, second, 201, body)
			} else {
				wantProblem(t, second, 422, "key-reused")
				wantReplay(t, s.do(line(tt.first, tt.fields[0])), 201, body) // not poisoned
			}
			s.wantEffects(1)
		})
	}
}

// line is a request from its method, target and body.
func line(s, fields string) *http.Request {
	method, rest, _ := strings.Cut(s, " ")
	target, body, _ := strings.Cut(rest, " ")
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Idempotency-Key", secretKey)
	if !strings.HasPrefix(fields, "Content-Type") {
		r.Header.Set("Content-Type", "application/json")
	}
	for field := range strings.SplitSeq(fields, "\n") {
		if name, value, ok := strings.Cut(field, ": "); ok {
			r.Header.Add(name, value)
		}
	}
	return r
}

func bySKU(c *refrain.Contract) {
	c.MeaningRule = "sku/1"
	c.Meaning = func(r fingerprint.Request) ([]byte, error) {
		var order struct{ SKU string }
		err := json.Unmarshal(r.Body, &order)
		return []byte(order.SKU), err
	}
}

func TestMeaningThatFails(t *testing.T) {
	t.Parallel()
	c := orders
	bySKU(&c)
	s := open(t, c, place)
	wantProblem(t, s.do(request(secretKey, `{"sku":1}`)), 400, "body-not-canonical")
	s.wantEffects(0)
}

// TestStrippedPrefix: one guard below two prefixes does not confuse them.
func TestStrippedPrefix(t *testing.T) {
	t.Parallel()
	s := open(t, orders, place)
	inner, outer := s.http, http.NewServeMux()
	outer.Handle("/a/", http.StripPrefix("/a", inner))
	outer.Handle("/b/", http.StripPrefix("/b", inner))
	s.http = outer
	s.do(line("POST /a/orders {}", ""))
	wantProblem(t, s.do(line("POST /b/orders {}", "")), 422, "key-reused")
	wantReplayed(t, s.do(line("POST /a/orders {}", "")))
}

func wantReplayed(t *testing.T, res *http.Response) {
	t.Helper()
	if res.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("answer = %d %v, want a replay", res.StatusCode, res.Header)
	}
}

// TestWithoutMux: no pattern, so the path as sent stands in for it.
func TestWithoutMux(t *testing.T) {
	t.Parallel()
	s := &shop{t: t, http: refrainhttp.Handle(guard, memstore.New(memstore.Options{}), orders, place)}
	s.do(line("POST /a {}", ""))
	wantProblem(t, s.do(line("POST /b {}", "")), 422, "key-reused")
}

// TestCodedBody: gzip or not is the same request, and the handler gets the
// bytes that were sent.
func TestCodedBody(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, _ = io.WriteString(zip, smallOrder)
	_ = zip.Close()
	s := open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		body, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(body, packed.Bytes()) || r.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("the handler got %q, %v", body, err)
		}
		return put(r, tx)
	})
	s.do(request(secretKey, packed.String(), "Content-Encoding", "gzip"))
	wantReplayed(t, s.post(secretKey))
	wantProblem(t, s.do(request("l", "no gzip", "Content-Encoding", "gzip")), 400, "body-not-canonical")
	s.wantEffects(1)
}

// TestDeployBetween: the first and its retry meet different rules or schemas.
func TestDeployBetween(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{})
	serve := func(change func(c *refrain.Contract)) *shop {
		c := orders
		change(&c)
		return &shop{t: t, db: db, http: refrainhttp.Handle(guard, db, c, place)}
	}
	spaced := strings.ReplaceAll(smallOrder, ",", ", ")
	old := serve(func(*refrain.Contract) {})
	old.post(secretKey)
	for name, change := range map[string]func(c *refrain.Contract){
		"schema":  func(c *refrain.Contract) { c.Schema = "2" },
		"rule":    func(c *refrain.Contract) { c.Rule = fingerprint.RuleRaw },
		"meaning": bySKU,
	} {
		s := serve(change)
		if res := s.do(request(secretKey, spaced)); res.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: the same request = %d", name, res.StatusCode)
		}
		wantProblem(t, s.do(request(secretKey, `{"other":1}`)), 422, "key-reused")
	}
	meant := serve(bySKU)
	meant.post("m")
	if res := serve(func(c *refrain.Contract) { bySKU(c); c.Schema = "2" }).do(request("m", spaced)); res.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("meaning under another schema = %d", res.StatusCode)
	}
	wantProblem(t, old.do(request("m", spaced)), 422, "key-reused") // a rule this binary does not know: only the raw bytes may agree
	wantReplayed(t, old.post("m"))
}
