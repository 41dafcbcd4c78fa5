package trials

import (
	"testing"
	"time"
)

// sameness is two requests under one key: one action, or a mismatch. Each is
// method, target, body and media type.
type sameness struct {
	name          string
	first, second [4]string
	same          bool
}

const jsonType = "application/json"

func body(a, b string, same bool, name string) sameness {
	return sameness{name, [4]string{"POST", "/orders", a, jsonType}, [4]string{"POST", "/orders", b, jsonType}, same}
}

// TestSameRequestOrAnother: whatever a retry looks like, it is a replay or a
// mismatch as documented, and never a second effect.
func TestSameRequestOrAnother(t *testing.T) {
	cases := []sameness{
		body(`{"a":1,"b":[1,2]}`, `{"b":[1,2],"a":1}`, true, "members reordered"),
		body(`{"a":1,"b":[1,2]}`, "{ \"a\" : 1,\n\t\"b\" : [ 1, 2 ] }\n", true, "spaces and line ends"),
		body(`{"a":"A"}`, `{"\u0061":"\u0041"}`, true, "escapes"),
		body(`{"a":1}`, `{"a":1.0}`, true, "1.0 for 1"),
		body(`{"a":1,"b":[1,2]}`, `{"a":1,"b":[2,1]}`, false, "array order"),
		body(`{"a":10}`, `{"a":"10"}`, false, "a number and a text"),
		body(`{"a":1}`, `{"a":1,"b":null}`, false, "absent and null"),
		body(``, ``, true, "empty twice"),
		body(`{}`, `{}`, true, "{} twice"),
		body(`null`, `null`, true, "null twice"),
		body(``, " \n", true, "empty and blanks alone"),
		body(``, `{}`, false, "empty and {}"),
		body(``, `null`, false, "empty and null"),
		body(`{}`, `null`, false, "{} and null"),
		{"one space twice", [4]string{"POST", "/orders", " ", "text/plain"}, [4]string{"POST", "/orders", " ", "text/plain"}, true},
		{"empty and one space", [4]string{"POST", "/orders", "", "text/plain"}, [4]string{"POST", "/orders", " ", "text/plain"}, false},
		{"no body, no media type", [4]string{"POST", "/orders", "", ""}, [4]string{"POST", "/orders", "", ""}, true},
		{"charset", [4]string{"POST", "/orders", "{}", jsonType}, [4]string{"POST", "/orders", "{}", jsonType + "; charset=utf-8"}, true},
		{"media type", [4]string{"POST", "/orders", "{}", jsonType}, [4]string{"POST", "/orders", "{}", "text/plain"}, false},
		{"path", [4]string{"POST", "/orders", "{}", jsonType}, [4]string{"POST", "/carts", "{}", jsonType}, false},
		{"path value", [4]string{"POST", "/orders/1/lines", "", ""}, [4]string{"POST", "/orders/2/lines", "", ""}, false},
		{"path value twice", [4]string{"POST", "/orders/1/lines", "", ""}, [4]string{"POST", "/orders/1/lines", "", ""}, true},
		{"method", [4]string{"POST", "/orders", "{}", jsonType}, [4]string{"PATCH", "/orders", "{}", jsonType}, false},
		{"query", [4]string{"POST", "/orders?a=1", "{}", jsonType}, [4]string{"POST", "/orders?a=2", "{}", jsonType}, false},
		{"a name of the query twice", [4]string{"POST", "/orders?a=1&a=2", "{}", jsonType}, [4]string{"POST", "/orders?a=2&a=1", "{}", jsonType}, false},
		{"query names reordered", [4]string{"POST", "/orders?a=1&b=2", "{}", jsonType}, [4]string{"POST", "/orders?b=2&a=1", "{}", jsonType}, true},
	}
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		at := &clock{now: noon}
		store := newEngine(t, at.Now)
		for n, tt := range cases {
			t.Run(tt.name, func(t *testing.T) {
				c := orders
				c.Operation = "orders." + string(rune('a'+n))
				s := serve(t, store, at, guard, c, create, "/carts", "/orders/{id}/lines")
				send := func(r [4]string) answer { return s.send(r[0], r[1], "k", r[2], "Content-Type", r[3]) }
				before := store.rows(t)
				first := send(tt.first)
				wantFresh(t, first, 201)
				if second := send(tt.second); tt.same {
					wantReplay(t, second, first)
				} else {
					wantProblem(t, second, 422, "key-reused")
				}
				wantReplay(t, send(tt.first), first)
				s.wantEffects(before + 1)
			})
		}
	})
}

// TestOneKeyManyPlaces: a key means something in its tenant and operation
// alone; hosts are one place, and a trace header is no key.
func TestOneKeyManyPlaces(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		s := open(t, newEngine, guard, orders, create)
		carts := orders
		carts.Operation = "carts.create"
		c := serve(t, s.store, s.clock, guard, carts, create)

		north := s.post("k", order)
		south := s.post("k", order, "Authorization", "south")
		wantFresh(t, north, 201)
		wantFresh(t, south, 201)
		wantFresh(t, c.post("k", other), 201)
		s.wantEffects(3)
		wantReplay(t, s.post("k", order), north)
		wantReplay(t, s.post("k", order, "Authorization", "south"), south)

		r := s.request(t.Context(), "k", order)
		r.Host = "other.example"
		wantReplay(t, s.do(r), north)
		s.wantEffects(3)

		for range 2 { // a key under any other name is none
			wantProblem(t, s.post("", order, "X-Request-Id", "k", "X-Idempotency-Key", "k", "Traceparent", "00-1-1-00"), 400, "key-missing")
		}
		s.wantEffects(3)

		ref := north.header.Get("Idempotency-Ref")
		mine, theirs := s.send("GET", "/v1/operations/"+ref, "", ""), s.send("GET", "/v1/operations/"+ref, "", "", "Authorization", "south")
		unknown := s.send("GET", "/v1/operations/op_00000000000000000000000000", "", "", "Authorization", "south")
		if mine.status != 200 || theirs.status != 404 || theirs.status != unknown.status || theirs.problem() != unknown.problem() {
			t.Errorf("status = %v, %v, %v", mine, theirs, unknown)
		}
	})
}
