package trials

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// TestWithoutKey: no two requests without a key ever share a record.
func TestWithoutKey(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		optional := orders
		optional.KeyOptional = true
		malformed := []string{"Idempotency-Key:", "Idempotency-Key:    ", `Idempotency-Key: ""`, `Idempotency-Key: "`}
		for _, c := range []refrain.Contract{orders, optional} {
			s := open(t, newEngine, guard, c, create)
			refs := map[string]bool{}
			for n := range 4 {
				a := s.post("", order)
				if !c.KeyOptional {
					wantProblem(t, a, 400, "key-missing")
					continue
				}
				wantFresh(t, a, 201)
				if a.header.Get("Idempotency-Ref") != "" || a.header.Get("Idempotency-Expires") != "" || refs[a.body] {
					t.Errorf("request %d without a key = %v %v", n, a, a.header)
				}
				refs[a.body] = true
			}
			s.wantEffects(len(refs))
			for _, line := range malformed {
				for range 2 {
					w := s.dial()
					w.post("1.1", line)
					wantProblem(t, w.read(), 400, "key-invalid")
				}
			}
			s.wantEffects(len(refs))
		}
	})
}

// TestKeyLength: 1 to 255 bytes as decoded, whatever the scope; above it a
// clear refusal; keys that differ at the end are two.
func TestKeyLength(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		widest := guard
		widest.Principal = func(*http.Request) (refrain.Scope, error) {
			return refrain.Tenant(strings.Repeat("%", 255)).Subject(strings.Repeat("&", 255)), nil
		}
		s := open(t, newEngine, widest, orders, create)
		effects := 0
		for _, n := range []int{1, 36, 150, 254, 255, 256, 300, 1000, 8000} {
			a := s.post(strings.Repeat("k", n-1)+"a", order)
			b := s.post(strings.Repeat("k", n-1)+"b", order)
			if n > 255 {
				wantProblem(t, a, 400, "key-invalid")
				wantProblem(t, b, 400, "key-invalid")
				continue
			}
			wantFresh(t, a, 201)
			wantFresh(t, b, 201)
			wantReplay(t, s.post(strings.Repeat("k", n-1)+"a", order), a)
			effects += 2
		}
		escaped := `"` + strings.Repeat(`\"`, 255) + `"` // 255 as decoded
		first := s.post(escaped, order)
		wantFresh(t, first, 201)
		wantReplay(t, s.post(escaped, order), first)
		wantProblem(t, s.post(`"`+strings.Repeat(`\"`, 256)+`"`, order), 400, "key-invalid")
		for _, rune := range []string{"é", "😀"} { // not even within the limit
			wantProblem(t, s.post(`"`+rune+`"`, order), 400, "key-invalid")
			wantProblem(t, s.post(strings.Repeat(rune, 127), order), 400, "key-invalid")
		}
		s.wantEffects(effects + 1)
	})
}

// TestQuotedKey: the quoted and the bare form are one key; the stored one is
// decoded, and the handler finds the field as it was sent.
func TestQuotedKey(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		sent := ""
		h := func(w http.ResponseWriter, r *http.Request, put func() error) error {
			sent = strings.Join(r.Header["Idempotency-Key"], "|")
			return create(w, r, put)
		}
		lenient, strict := guard, guard
		strict.Strict = true
		type form struct{ field, key string } // key "" is refused
		quoted := []form{
			{`"xyz"`, "xyz"}, {`"a\"b"`, `a"b`}, {`"a\\b"`, `a\b`}, {`"xyz";p=1`, "xyz"}, {`"xyz`, ""}, {`"a\x"`, ""}, {`"a"b`, ""}, {`"xyz";`, ""},
		}
		for _, tt := range []struct {
			strict bool
			forms  []form
		}{
			{false, append([]form{{"xyz", "xyz"}, {"'xyz'", "'xyz'"}, {"xyz;p=1", ""}, {"a b", ""}}, quoted...)},
			{true, append([]form{{"xyz", ""}, {"'xyz'", ""}, {"xyz;p=1", ""}}, quoted...)},
		} {
			g := lenient
			if tt.strict {
				g = strict
			}
			s := open(t, newEngine, g, orders, h)
			met := map[string]answer{}
			for _, f := range tt.forms {
				sent = ""
				a := s.post(f.field, order)
				first, again := met[f.key]
				switch {
				case f.key == "":
					wantProblem(t, a, 400, "key-invalid")
					if strings.Contains(a.body, "xyz") {
						t.Errorf("the problem shows the key: %s", a.body)
					}
				case again:
					wantReplay(t, a, first)
				default:
					wantFresh(t, a, 201)
					met[f.key] = a
					if sent != f.field {
						t.Errorf("the handler found %q, sent was %q", sent, f.field)
					}
					rec, err := s.store.Find(t.Context(), a.header.Get("Idempotency-Ref"))
					if err != nil || rec.Identity.Key != f.key {
						t.Errorf("%s is stored as %q, %v", f.field, rec.Identity.Key, err)
					}
				}
			}
			s.wantEffects(len(met))
		}
	})
}

// TestKeysAreBytes: no letter case, no trimming, no decoding joins two keys.
func TestKeysAreBytes(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		s := open(t, newEngine, guard, orders, create)
		keys := []string{`"AbC"`, `"aBc"`, `"k"`, `"k "`, `" k"`, `"a%62c"`, `"abc"`, `"%C3%A9"`, `"e"`, `"1"`, `"01"`, `"1.0"`}
		for _, key := range keys {
			wantFresh(t, s.post(key, order), 201)
		}
		wantFresh(t, s.post("k", order, "Authorization", "AbC"), 201)
		wantFresh(t, s.post("k", order, "Authorization", "aBc"), 201)
		s.wantEffects(len(keys) + 2)
	})
}

// TestFailedAttemptFreesItsKey: an outcome that is not recorded leaves no row,
// for every form of key, and the retry runs at once.
func TestFailedAttemptFreesItsKey(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		for _, key := range []string{
			"plain", "MiXeD", `"quoted"`, `"with \"escapes\" and \\"`, strings.Repeat("k", 255), "0198c6b2-7c1e-7000-8000-3f1d8f9a2b11", "a/b:c",
		} {
			for name, fail := range map[string]func(w http.ResponseWriter, put func() error) error{
				"refused before any effect": func(w http.ResponseWriter, _ func() error) error { w.WriteHeader(422); return nil },
				"an error":                  func(http.ResponseWriter, func() error) error { return fmt.Errorf("no stock") },
				"an error after the effect": func(_ http.ResponseWriter, put func() error) error { _ = put(); return fmt.Errorf("no stock") },
			} {
				t.Run(name+" "+key[:4], func(t *testing.T) {
					failing := true
					s := open(t, newEngine, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
						if failing {
							return fail(w, put)
						}
						return create(w, r, put)
					})
					if a := s.post(key, order); a.status < 400 || a.header.Get("Idempotency-Ref") != "" {
						t.Errorf("first = %v %v", a, a.header)
					}
					s.wantEffects(0)
					if found, err := s.store.List(t.Context(), record.Record{}, 10); err != nil || len(found) != 0 {
						t.Errorf("%d records are left, %v", len(found), err)
					}
					if a := s.send("GET", "/v1/operations?operation=orders.create", key, ""); a.status != 404 {
						t.Errorf("status = %v", a)
					}
					failing = false
					wantFresh(t, s.post(key, order), 201)
					s.wantEffects(1)
				})
			}
		}
	})
}
