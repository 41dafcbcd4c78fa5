package fingerprint

import (
	"errors"
	"reflect"
	"testing"

	"github.com/refrain-dev/refrain/vectors"
)

func order() Request {
	return Request{
		Method: "POST", Target: "/shops/7/orders?b=2&a=1", ContentType: "application/json",
		Route: "/shops/{shop}/orders", PathValues: [][2]string{{"shop", "7"}}, Query: "b=2&a=1",
		Fields: [][2]string{{"Prefer", "x"}, {"Accept", "y"}, {"Accept", "z"}}, Schema: "1",
		Body: []byte(`{"amount":10}`),
	}
}

func compute(t *testing.T, req Request, opts Options) Print {
	t.Helper()
	p, err := Compute(req, opts)
	if err != nil {
		t.Fatalf("Compute: %v", err)
	}
	return p
}

// What each part of a request does to each digest.
func TestPartsOfARequest(t *testing.T) {
	t.Parallel()
	base := compute(t, order(), Options{})
	if again := compute(t, order(), Options{}); again != base {
		t.Fatal("not a function of the request")
	}
	for name, c := range map[string]struct {
		change             func(*Request)
		sameRaw, sameMeant bool
	}{
		"method":              {func(r *Request) { r.Method = "PATCH" }, false, false},
		"target only":         {func(r *Request) { r.Target = "/shops/%37/orders?b=2&a=1" }, false, true},
		"route":               {func(r *Request) { r.Route = "/shops/{shop}/carts" }, true, false},
		"path value":          {func(r *Request) { r.PathValues = [][2]string{{"shop", "8"}} }, true, false},
		"path value's name":   {func(r *Request) { r.PathValues = [][2]string{{"store", "7"}} }, true, false},
		"query order":         {func(r *Request) { r.Query = "a=1&b=2" }, true, true},
		"query value":         {func(r *Request) { r.Query = "a=1&b=3" }, true, false},
		"query value order":   {func(r *Request) { r.Query = "b=2&a=1&a=0" }, true, false},
		"no query":            {func(r *Request) { r.Query = "" }, true, false},
		"field value":         {func(r *Request) { r.Fields[0][1] = "w" }, false, false},
		"field name's case":   {func(r *Request) { r.Fields[0][0] = "pReFeR" }, true, true},
		"field order":         {func(r *Request) { r.Fields[0], r.Fields[1] = r.Fields[1], r.Fields[0] }, true, true},
		"order of one field":  {func(r *Request) { r.Fields[1], r.Fields[2] = r.Fields[2], r.Fields[1] }, false, false},
		"field missing":       {func(r *Request) { r.Fields = r.Fields[:2] }, false, false},
		"media type":          {func(r *Request) { r.ContentType = "application/x+json" }, false, false},
		"media parameter":     {func(r *Request) { r.ContentType = "application/json; charset=utf-8" }, false, true},
		"identity coding":     {func(r *Request) { r.ContentEncoding = "identity" }, false, true},
		"schema":              {func(r *Request) { r.Schema = "2" }, false, false},
		"body spelling":       {func(r *Request) { r.Body = []byte(`{"amount": 1e1}`) }, false, true},
		"body":                {func(r *Request) { r.Body = []byte(`{"amount":20}`) }, false, false},
		"body into the query": {func(r *Request) { r.Query += `{"amount":10}`; r.Body = nil }, false, false},
	} {
		req := order()
		c.change(&req)
		p := compute(t, req, Options{})
		if (p.Raw == base.Raw) != c.sameRaw || (p.Deciding == base.Deciding) != c.sameMeant {
			t.Errorf("%s: raw equal %v, deciding equal %v; want %v, %v",
				name, p.Raw == base.Raw, p.Deciding == base.Deciding, c.sameRaw, c.sameMeant)
		}
	}
}

func TestComputeAltersNothing(t *testing.T) {
	t.Parallel()
	req := order()
	req.Body = []byte(`{"b":1,"a":"\u0041"}`)
	want := order()
	want.Body = []byte(`{"b":1,"a":"\u0041"}`)
	compute(t, req, Options{})
	if !reflect.DeepEqual(req, want) {
		t.Errorf("request became %+v", req)
	}
}

func TestRouteFallsBackToThePathAsSent(t *testing.T) {
	t.Parallel()
	one, two, three := order(), order(), order()
	one.Route, two.Route, three.Route = "", "", ""
	two.Target = "/shops/8/orders?b=2&a=1"
	three.Target = "/shops/7/orders?a=1&b=2"
	p := compute(t, one, Options{})
	if p.Same(compute(t, two, Options{})) {
		t.Error("two paths without a route are one request")
	}
	if !p.Same(compute(t, three, Options{})) {
		t.Error("the query counted twice")
	}
}

func TestBodyVectors(t *testing.T) {
	t.Parallel()
	for _, c := range append(append(vectors.JSONBodies(), vectors.Forms()...), vectors.Multiparts()...) {
		request := func(contentType string, body []byte) Request {
			return Request{Method: "POST", Target: "/", ContentType: contentType, Schema: "1", Body: body}
		}
		first, err := Compute(request(c.First()), Options{})
		if c.Error != "" {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || string(syntax.Reason) != c.Error {
				t.Errorf("%s %q: %v, want %s", c.ContentType, c.Name, err, c.Error)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %q: %v", c.ContentType, c.Name, err)
			continue
		}
		if retry := compute(t, request(c.Retry()), Options{}); retry.Same(first) != c.Equal {
			t.Errorf("%s %q: same is %v", c.ContentType, c.Name, !c.Equal)
		}
	}
}

func TestRuleIsChosenByMediaType(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]string{
		"application/json":                      RuleJSON,
		" Application/JSON ;Charset=\"UTF-8\"":  RuleJSON,
		"application/vnd.shop+json":             RuleJSON,
		"application/json; charset=utf-16":      RuleRaw,
		"application/json; charset":             RuleRaw,
		"application/json, application/json":    RuleRaw,
		"application/jsonl":                     RuleRaw,
		"+json":                                 RuleRaw,
		"":                                      RuleRaw,
		"application/x-www-form-urlencoded":     RuleForm,
		"application/x-www-form-urlencoded;a=b": RuleForm,
		"text/xml":                              RuleRaw,
		"multipart/mixed; boundary=b":           RuleRaw,
	} {
		p := compute(t, Request{ContentType: contentType}, Options{})
		if p.Rule != want {
			t.Errorf("%q: %s, want %s", contentType, p.Rule, want)
		}
	}
	p := compute(t, Request{ContentType: "multipart/form-data; boundary=b", Body: []byte("--b--\r\n")}, Options{})
	if p.Rule != RuleMultipart {
		t.Errorf("form-data: %s", p.Rule)
	}
}

func TestRuleOption(t *testing.T) {
	t.Parallel()
	one, two := Request{ContentType: "text/plain", Body: []byte(`{"a":1}`)}, Request{ContentType: "text/plain", Body: []byte(`{"a":1.0}`)}
	if compute(t, one, Options{}).Same(compute(t, two, Options{})) {
		t.Error("text is compared as JSON")
	}
	if !compute(t, one, Options{Rule: RuleJSON}).Same(compute(t, two, Options{Rule: RuleJSON})) {
		t.Error("Options.Rule did not choose")
	}
	if _, err := Compute(one, Options{Rule: "json-exact/2"}); !errors.Is(err, ErrUnknownRule) {
		t.Errorf("unknown rule: %v", err)
	}
	if _, err := Compute(Request{Query: "a=%zz"}, Options{}); !errors.Is(err, ErrNotCanonical) {
		t.Errorf("bad escape in the query: %v", err)
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	print := func(rule, schema, input string) Print {
		p, err := Bytes(rule, schema, []byte(input))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	one := print(RuleJSON, "1", `{"a":1,"b":2}`)
	if one.Rule != RuleJSON || one.Schema != "1" {
		t.Errorf("%s %s", one.Rule, one.Schema)
	}
	if two := print(RuleJSON, "1", `{"b":2,"a":1}`); !one.Same(two) || one.Raw == two.Raw {
		t.Error("member order")
	}
	if one.Same(print(RuleJSON, "2", `{"a":1,"b":2}`)) {
		t.Error("schema is not covered")
	}
	if print(RuleRaw, "1", "x").Same(print(RuleRaw, "1", "y")) {
		t.Error("input is not covered")
	}
	long := make([]byte, DefaultMaxBody+1)
	if _, err := Bytes(RuleRaw, "1", long); err != nil {
		t.Errorf("input of any length: %v", err)
	}
}
