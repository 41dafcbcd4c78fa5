package refraintest_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// TestEndpointFaults: each fault is one that real services have; the report
// names the row and what is wrong.
func TestEndpointFaults(t *testing.T) {
	t.Parallel()
	const key = "Idempotency-Key"
	tests := []struct {
		name   string
		plant  func(*service)
		report string
	}{
		{"no guard", func(s *service) {
			s.around = func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_ = s.db.Update(r.Context(), func(tx memstore.Tx) error { return s.create(w, r, tx) })
				})
			}
		}, `replay: the repeat's body is "{\"id\":2}", the first one's "{\"id\":1}"`},
		{"the effect happens twice", func(s *service) {
			s.handler = func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				if err := tx.Put("orders", rand.Text(), nil); err != nil {
					return err
				}
				return s.create(w, r, tx)
			}
		}, `replay: the first request had 2 effects, want 1`},
		{"the effect is counted for repeats", func(s *service) {
			s.around = before(func(r *http.Request) {
				_ = s.db.Update(r.Context(), func(tx memstore.Tx) error {
					if _, seen, _ := tx.Get("seen", r.Header.Get(key)); seen {
						return tx.Put("orders", rand.Text(), nil)
					}
					return tx.Put("seen", r.Header.Get(key), nil)
				})
			})
		}, `replay: 2 effects, want 1`},
		{"a layer drops the mark of replays", func(s *service) {
			s.around = after(func(r *httptest.ResponseRecorder) { r.Header().Del("Idempotent-Replayed") })
		}, `replay: the repeat's answer is not marked Idempotent-Replayed: true`},
		{"a layer marks everything as a replay", func(s *service) {
			s.around = after(func(r *httptest.ResponseRecorder) { r.Header().Set("Idempotent-Replayed", "true") })
		}, `replay: the first request had its effect, but its answer is marked as a replay`},
		{"a layer writes into the body", func(s *service) {
			s.around = after(func(r *httptest.ResponseRecorder) { r.Body.WriteString(rand.Text()) })
		}, `replay: the repeat's body is `},
		{"a layer drops receipts", func(s *service) {
			s.around = after(func(r *httptest.ResponseRecorder) { r.Header().Del("Idempotency-Ref") })
		}, `replayed header: the first answer has no Idempotency-Ref`},
		{"a layer repeats a cookie", func(s *service) {
			s.around = header(func(h http.Header) { h.Set("Set-Cookie", "session=1") })
		}, `replayed header: Set-Cookie: "session=1" is repeated`},
		{"a layer changes a field", func(s *service) {
			var n atomic.Int64
			s.around = header(func(h http.Header) { h.Set("X-Served-By", fmt.Sprint(n.Add(1))) })
		}, `replayed header: X-Served-By is ["4"], in the first answer it was ["3"]; if a layer around the guard makes it anew, name it in Fresh`},
		{"one key for everything", func(s *service) {
			s.around = before(func(r *http.Request) { r.Header.Set(key, "k") })
		}, `another key: the first request was taken for a repeat`},
		{"a herd gets through", func(s *service) {
			var mu sync.Mutex
			sent := map[string]int{}
			s.around = before(func(r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if sent[r.Header.Get(key)]++; sent[r.Header.Get(key)] == 10 {
					r.Header.Set(key, rand.Text())
				}
			})
		}, `duplicates at once: 2 effects, want 1`},
		{"a herd is turned away", func(s *service) {
			var mu sync.Mutex
			sent := map[string]int{}
			s.around = func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					sent[r.Header.Get(key)]++
					many := sent[r.Header.Get(key)] == 10
					mu.Unlock()
					if many {
						w.WriteHeader(http.StatusTooManyRequests)
						return
					}
					next.ServeHTTP(w, r)
				})
			}
		}, `duplicates at once: a duplicate was answered 429 "", want the first answer or 409 in-progress`},
		{"bodies are made equal", func(s *service) {
			s.around = before(func(r *http.Request) { // a layer caps amounts
				body, err := io.ReadAll(r.Body)
				if err == nil {
					body = bytes.Replace(body, []byte(`"amount":3`), []byte(`"amount":2`), 1)
					r.Body = io.NopCloser(bytes.NewReader(body))
				}
			})
		}, `another body: the answer is 201 "{\"id\":`},
		{"an error page hides problems", func(s *service) {
			s.around = after(func(r *httptest.ResponseRecorder) {
				if r.Code >= 400 {
					r.Body = bytes.NewBufferString("Oops")
				}
			})
		}, `another body: the answer to key-reused is no problem document: application/problem+json "Oops"`},
		{"the problem shows the key", func(s *service) {
			s.around = func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					after(func(rec *httptest.ResponseRecorder) {
						body := rec.Body.String()
						rec.Body = bytes.NewBufferString(strings.Replace(body, `"detail":"`, `"detail":"`+strings.Trim(r.Header.Get(key), `"`), 1))
					})(next).ServeHTTP(w, r)
				})
			}
		}, `another body: the problem document shows the key`},
		{"JSON is compared byte for byte", func(s *service) {
			s.config.Contract, s.contract.Rule = s.contract, "raw/1"
		}, `reordered JSON: the repeat was answered 422 key-reused`},
		{"a layer needs a length", func(s *service) {
			s.around = func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.ContentLength < 0 {
						w.WriteHeader(http.StatusLengthRequired)
						return
					}
					next.ServeHTTP(w, r)
				})
			}
		}, `chunked body: the repeat was answered 411`},
		{"half a body passes for a whole one", func(s *service) {
			s.around = before(func(r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				*r = *r.WithContext(context.WithoutCancel(r.Context())) // as a queue does
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			})
		}, `body cut short: 1 effects, want 0`},
		{"who leaves is forgotten", func(s *service) {
			s.config.Skip = allBut("client that leaves")
			s.around = leaverFirst(before(func(r *http.Request) {
				if leaver(r) {
					r.Header.Set(key, rand.Text())
					*r = *r.WithContext(context.WithoutCancel(r.Context()))
				}
			}))
		}, `client that leaves: 2 effects, want 1`},
		{"who leaves makes trouble", func(s *service) {
			s.config.Skip = allBut("client that leaves")
			var left atomic.Value
			left.Store("")
			s.around = leaverFirst(func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if leaver(r) {
						left.Store(r.Header.Get(key))
					}
					if left.Load() == r.Header.Get(key) {
						w.Header().Set("Idempotency-Status", "outcome-unknown")
						w.WriteHeader(http.StatusConflict)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
		}, `client that leaves: the repeat after a client that left was answered 409 outcome-unknown`},
		{"tenants share records", func(s *service) {
			s.guard.Principal = func(r *http.Request) (refrain.Scope, error) {
				_, err := s.principal(r)
				return refrain.Tenant("all"), err
			}
		}, `another caller: another caller's request with an equal key was taken for a repeat`},
		{"everybody is let in", func(s *service) {
			s.guard.Principal = func(r *http.Request) (refrain.Scope, error) {
				scope, err := s.principal(r)
				if err != nil && !s.revoked.Load() {
					return refrain.Tenant("north"), nil
				}
				return scope, err
			}
		}, `no credential: the answer is 201`},
		{"a session outlives its credential", func(s *service) {
			s.config.Revoke = func() {}
		}, `revoked credential: the answer is 201`},
		{"keys are optional", func(s *service) {
			s.config.Contract, s.contract.KeyOptional = s.contract, true
		}, `no key: the answer is 201`},
		{"a layer mends keys", func(s *service) {
			s.around = before(func(r *http.Request) {
				if k := r.Header.Get(key); strings.Count(k, `"`) == 1 {
					r.Header.Set(key, k+`"`)
				}
			})
		}, `malformed key: the answer is 201`},
		{"a layer cuts keys", func(s *service) {
			s.around = before(func(r *http.Request) {
				if k := r.Header.Get(key); len(k) > 200 {
					r.Header.Set(key, k[:200]+`"`)
				}
			})
		}, `key too long: the answer is 201`},
		{"a layer takes the first of two keys", func(s *service) { s.around = firstKeyLine },
			`two key lines: the answer is 201`},
		{"another clock", func(s *service) {
			s.db = memstore.New(memstore.Options{Now: noon})
			s.guard.Now = noon
		}, `past ReplayFor: the answer is still replayed after 1h0m0s; is Clock.Now the engine's Options.Now?`},
		{"the replay ends early", func(s *service) {
			s.config.Contract = s.contract
			s.contract.ReplayFor -= time.Second
		}, `past ReplayFor: the repeat was answered 410 result-gone`},
		{"untimed keys are refused", func(s *service) {
			s.config.Contract, s.contract.KeyTime = s.contract, refrain.KeyTimeRequired
		}, `past RememberFor, untimed key: the first request was refused: 400 key-invalid`},
		{"the time in keys is not read", func(s *service) {
			s.config.Contract, s.contract.KeyTime = s.contract, refrain.KeyTimeNone
		}, `past RememberFor, timed key: the answer is 201`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newService()
			tt.plant(s)
			s.check(t).want(t, "refraintest: "+tt.report)
		})
	}
}

// TestEndpointWrapFaults: a handler that commits for itself and answers 5xx
// after its effect leaves an outcome nobody knows.
func TestEndpointWrapFaults(t *testing.T) {
	t.Parallel()
	s := newService()
	s.wrap = true
	s.handler = func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		w.WriteHeader(http.StatusInternalServerError)
		return tx.Put("orders", rand.Text(), nil)
	}
	s.check(t).want(t, `refraintest: replay: the repeat was answered 409 outcome-unknown, want 500 "" again`)
}

func noon() time.Time { return time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC) }

// before is a layer that changes requests.
func before(change func(*http.Request)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			change(r)
			next.ServeHTTP(w, r)
		})
	}
}

// after is a layer that changes answers.
func after(change func(*httptest.ResponseRecorder)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := httptest.NewRecorder()
			next.ServeHTTP(rec, r)
			change(rec)
			rec.Header().Del("Content-Length")
			for name, values := range rec.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(rec.Code)
			_, _ = w.Write(rec.Body.Bytes())
		})
	}
}

// leaver recognises the client that leaves: its request is written by hand.
func leaver(r *http.Request) bool { return r.Header.Get("User-Agent") == "" }

// leaverFirst holds everybody else back until the client that leaves was
// served, so that its fault is always seen.
func leaverFirst(layer func(http.Handler) http.Handler) func(http.Handler) http.Handler {
	served := make(chan struct{})
	return func(next http.Handler) http.Handler {
		h := layer(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if leaver(r) {
				defer close(served)
			} else {
				<-served
			}
			h.ServeHTTP(w, r)
		})
	}
}

// allBut are the other rows' names.
func allBut(row string) []string {
	return slices.DeleteFunc([]string{
		"replay", "replayed header", "another key", "duplicates at once", "another body", "reordered JSON", "chunked body",
		"body cut short", "client that leaves", "another caller", "no credential", "no key", "malformed key", "key too long",
		"two key lines", "past ReplayFor", "past RememberFor, untimed key", "past RememberFor, timed key", "revoked credential",
	}, func(name string) bool { return name == row })
}

func firstKeyLine(next http.Handler) http.Handler {
	return before(func(r *http.Request) {
		if lines := r.Header[refrainhttp.DefaultHeader]; len(lines) > 1 {
			r.Header[refrainhttp.DefaultHeader] = lines[:1]
		}
	})(next)
}
