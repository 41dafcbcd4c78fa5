package trials

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/proof/processes"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// hop answers with fields that belong to one connection.
func hop(length bool) handler {
	return func(w http.ResponseWriter, r *http.Request, put func() error) error {
		w.Header().Set("Connection", "X-Foo")
		w.Header().Set("X-Foo", "1")
		w.Header().Set("Keep-Alive", "timeout=5")
		if length {
			w.Header().Set("Content-Length", "10000")
		} else {
			w.Header().Set("Transfer-Encoding", "chunked")
		}
		if err := put(); err != nil {
			return err
		}
		w.WriteHeader(201)
		for range 100 {
			if _, err := io.WriteString(w, strings.Repeat("y", 100)); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestFramingOfReplays: lengths are exact and hop-by-hop fields gone, over
// HTTP/1.0, one HTTP/1.1 connection and HTTP/2.
func TestFramingOfReplays(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		for _, length := range []bool{true, false} {
			s := open(t, newEngine, guard, orders, hop(length))
			check := func(n int, a answer) {
				t.Helper()
				if a.status != 201 || a.length != 10000 || a.body != strings.Repeat("y", 10000) || a.chunked {
					t.Errorf("answer %d = %v, length %d, chunked %t", n, a, a.length, a.chunked)
				}
				for _, name := range []string{"Connection", "X-Foo", "Keep-Alive", "Transfer-Encoding"} {
					own := n > 3 && name == "Connection" // HTTP/1.0 is answered with a Connection of the server's own
					if n > 0 && !own && a.header.Get(name) != "" {
						t.Errorf("replay %d has %s: %s", n, name, a.header.Get(name))
					}
				}
			}
			w := s.dial()
			for n := range 4 {
				w.post("1.1", "Idempotency-Key: k")
				check(n, w.read())
			}
			w = s.dial()
			w.post("1.0", "Idempotency-Key: k")
			check(4, w.read())
			w = s.dial()
			w.post("1.0", "Idempotency-Key: k", "Connection: keep-alive")
			check(5, w.read())
			s.wantEffects(1)

			srv := httptest.NewUnstartedServer(s.store.guarded(guard, orders, hop(length)))
			srv.EnableHTTP2 = true
			srv.StartTLS()
			t.Cleanup(srv.Close)
			s.url, s.http = srv.URL, srv.Client()
			for n := range 2 { // no mux here, so these are requests of their own
				a := s.post("l", order)
				check(n, a)
				if a.proto != 2 {
					t.Errorf("HTTP/%d", a.proto)
				}
			}
			s.wantEffects(2)
		}
	})
}

// TestFieldsOfReplays: every kept field has the same values in the same order.
func TestFieldsOfReplays(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		want := http.Header{
			"Link": {`</b>; rel="next"`, `</a>; rel="prev"`}, "Vary": {"Accept", "Accept-Language"}, "Location": {"/orders/17"},
			"Etag": {`W/"v1"`}, "Content-Type": {"application/json; charset=utf-8"}, "X-Empty": {""}, "X-Mixed": {"2", "1", "2"},
			"Cache-Control": {"private"}, "Content-Language": {"de"},
		}
		s := open(t, newEngine, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
			for name, values := range want {
				if name == "X-Mixed" {
					name = "x-mIxEd"
				}
				w.Header()[name] = values
			}
			w.WriteHeader(201)
			return put()
		})
		first := s.post("k", order)
		for range 2 {
			again := s.post("k", order)
			wantReplay(t, again, first)
			for name, values := range want {
				for _, h := range []http.Header{first.header, again.header} {
					if !reflect.DeepEqual(h[name], values) {
						t.Errorf("%s = %q, want %q", name, h[name], values)
					}
				}
			}
		}
		s.wantEffects(1)
	})
}

// TestSizesOfReplays: whatever the size, the first client gets all of it and a
// retry does not run again.
func TestSizesOfReplays(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		const limit = 1 << 20
		sizes := []int{0, 65_535, 65_536, limit - 1, limit, limit + 1, 17 << 20}
		if processes.Size(0, 1, 1) == 1 {
			sizes = append(sizes, 70<<20)
		}
		for _, most := range []int64{limit, 80 << 20} {
			for _, digest := range []bool{false, true} {
				c := orders
				c.MaxResponse, c.KeepDigest = most, digest
				size := 0
				s := open(t, newEngine, guard, c, func(w http.ResponseWriter, r *http.Request, put func() error) error {
					if err := put(); err != nil {
						return err
					}
					_, err := io.Copy(w, io.LimitReader(pattern{}, int64(size)))
					return err
				})
				kept := int(most)
				if store, ok := s.store.(*server); ok {
					kept = min(kept, store.keeps(t))
				}
				effects := 0
				for n := range sizes {
					if digest && most > limit {
						continue
					}
					size = sizes[n]
					key := fmt.Sprint("k", n)
					first, again := s.post(key, order), s.post(key, order)
					if size > kept && !digest {
						wantProblem(t, first, 500, "response-too-large")
						wantProblem(t, again, 500, "response-too-large")
						s.wantEffects(effects)
						continue
					}
					if first.status != 200 || len(first.body) != size || !strings.HasSuffix(first.body, string(tail(size))) {
						t.Errorf("%d bytes: first = %d, %d bytes", size, first.status, len(first.body))
					}
					if size > kept {
						wantProblem(t, again, 410, "result-gone")
					} else if again.body != first.body || !again.replayed() {
						t.Errorf("%d bytes: replay = %d, %d bytes", size, again.status, len(again.body))
					}
					effects++
					s.wantEffects(effects)
				}
			}
		}
	})
}

// pattern is an endless text.
type pattern struct{}

func (pattern) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func tail(size int) []byte { return bytes.Repeat([]byte{'x'}, min(size, 3)) }

// TestAnswersMadeByTheLibrary: handlers that answer with nothing at all, with
// http.ServeContent, http.Redirect or a Flush that is refused leave a record
// like any other, so a repeat is never stuck.
func TestAnswersMadeByTheLibrary(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		for name, finish := range map[string]func(w http.ResponseWriter, r *http.Request) int{
			"nothing": func(http.ResponseWriter, *http.Request) int { return 200 },
			"ServeContent": func(w http.ResponseWriter, r *http.Request) int {
				http.ServeContent(w, r, "a.txt", noon, strings.NewReader("0123456789"))
				return 206
			},
			"Redirect": func(w http.ResponseWriter, r *http.Request) int {
				http.Redirect(w, r, "/orders/17", http.StatusSeeOther)
				return 303
			},
			"Flush": func(w http.ResponseWriter, r *http.Request) int {
				_, _ = io.WriteString(w, "a")
				if err := http.NewResponseController(w).Flush(); err == nil {
					t.Error("Flush is not refused")
				}
				_, _ = io.WriteString(w, "b")
				return 200
			},
		} {
			t.Run(name, func(t *testing.T) {
				status := 0
				s := open(t, newEngine, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
					status = finish(w, r)
					return put()
				})
				first := s.post("k", order, "Range", "bytes=2-5")
				wantFresh(t, first, status)
				wantReplay(t, s.post("k", order, "Range", "bytes=2-5"), first)
				s.wantEffects(1)
			})
		}
	})
}

// TestRefusalSticks: better times do not turn a recorded refusal into a
// success; a new key is a new action.
func TestRefusalSticks(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		for name, refuse := range map[string]func(w http.ResponseWriter, put func() error) error{
			"Refuse": func(w http.ResponseWriter, put func() error) error {
				refrainhttp.Refuse(w)
				w.WriteHeader(402)
				_, err := io.WriteString(w, "insufficient funds")
				return err
			},
			"Refuse after a write": func(w http.ResponseWriter, put func() error) error {
				refrainhttp.Refuse(w)
				w.WriteHeader(402)
				return put()
			},
			"Reject": func(http.ResponseWriter, func() error) error { return refrain.Reject(fmt.Errorf("insufficient funds")) },
		} {
			t.Run(name, func(t *testing.T) {
				funds := false
				s := open(t, newEngine, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
					if !funds {
						return refuse(w, put)
					}
					return create(w, r, put)
				})
				first := s.post("k", order)
				if first.status < 400 || first.problem() != "" {
					t.Fatalf("first = %v", first)
				}
				funds = true
				wantReplay(t, s.post("k", order), first)
				s.wantEffects(0)
				wantFresh(t, s.post("l", order), 201)
				wantReplay(t, s.post("k", order), first)
				s.wantEffects(1)
			})
		}
	})
}
