package refraintest_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/refraintest"
)

// service is one endpoint on a store of its own, as a test changes it before
// it is checked.
type service struct {
	clock    refraintest.Clock
	db       *memstore.DB
	guard    refrainhttp.Guard
	contract refrain.Contract
	handler  func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error
	around   func(http.Handler) http.Handler // layers before the guard
	config   refraintest.EndpointConfig
	wrap     bool

	revoked atomic.Bool
	orders  atomic.Int64
}

func newService() *service {
	s := &service{contract: orders}
	s.db = memstore.New(memstore.Options{Now: s.clock.Now})
	s.guard = refrainhttp.Guard{Principal: s.principal, Now: s.clock.Now}
	s.handler = s.create
	s.around = func(h http.Handler) http.Handler { return h }
	s.config = refraintest.EndpointConfig{
		Path: "/orders?channel=web", Body: `{"item":"tea","amount":2}`, OtherBody: `{"item":"tea","amount":3}`,
		Credential:      http.Header{"Authorization": {"Bearer north"}},
		OtherCredential: http.Header{"Authorization": {"Bearer south"}},
		Revoke:          func() { s.revoked.Store(true) },
		Effects: func() int {
			n := 0
			for range s.db.Scan("orders") {
				n++
			}
			return n
		},
		Clock: &s.clock,
	}
	return s
}

func (s *service) principal(r *http.Request) (refrain.Scope, error) {
	tenant, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || s.revoked.Load() && tenant == "north" {
		return refrain.Scope{}, refrain.ErrUnauthenticated
	}
	return refrain.Tenant(tenant), nil
}

// create makes one row and sets fields that no replay may repeat.
func (s *service) create(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
	if _, err := io.ReadAll(r.Body); err != nil {
		return err
	}
	id := fmt.Sprint(s.orders.Add(1))
	if err := tx.Put("orders", id, nil); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Location", "/orders/"+id)
	h.Set("Content-Type", "application/json")
	h.Set("Set-Cookie", "seen="+id)
	h.Set("Traceparent", "00-"+id)
	h.Add("Vary", "Accept")
	h.Add("Vary", "Origin")
	w.WriteHeader(http.StatusCreated)
	_, err := fmt.Fprintf(w, `{"id":%s}`, id)
	return err
}

// check runs Endpoint and returns what it reported.
func (s *service) check(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{TB: t}
	if s.config.Contract.Operation == "" {
		s.config.Contract = s.contract
	}
	var h http.Handler
	if s.wrap {
		h = refrainhttp.Wrap(s.guard, s.db, s.contract, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := s.db.Update(r.Context(), func(tx memstore.Tx) error { return s.handler(w, r, tx) }); err != nil {
				panic(err)
			}
		}))
	} else {
		h = refrainhttp.Handle(s.guard, s.db, s.contract, s.handler)
	}
	mux := http.NewServeMux()
	mux.Handle("/orders", h)
	refraintest.Endpoint(r, s.around(mux), s.config)
	return r
}

func TestEndpointSound(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*service){
		"as it comes":  func(*service) {},
		"wrapped":      func(s *service) { s.wrap = true },
		"optional key": func(s *service) { s.contract.KeyOptional = true },
		"timed keys":   func(s *service) { s.contract.KeyTime = refrain.KeyTimeRequired },
		"entity ids":   func(s *service) { s.contract.KeyTime = refrain.KeyTimeNone },
		"ULIDs":        func(s *service) { s.contract.KeyTime = refrain.KeyTimeULID },
		"see other":    func(s *service) { s.contract.SeeOther = true },
		"asynchronous": func(s *service) { s.contract.Async = true },
		"no wait":      func(s *service) { s.contract.Wait = -1 },
		"one memory":   func(s *service) { s.contract.RememberFor = s.contract.ReplayFor },
		"bytes": func(s *service) {
			s.config.Header = http.Header{"content-type": {"text/plain"}}
			s.config.Body, s.config.OtherBody = "tea", "coffee"
		},
		"no body": func(s *service) { s.config.Body, s.config.OtherBody = "", `{"item":"tea"}` },
		"a form": func(s *service) {
			s.config.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
			s.config.Body, s.config.OtherBody = "item=tea", "item=coffee"
		},
		"PATCH": func(s *service) { s.config.Method = "PATCH" },
		"no clock": func(s *service) {
			s.config.Clock = nil
			s.guard.Now = time.Now
			s.db = memstore.New(memstore.Options{})
		},
		"no revocation": func(s *service) { s.config.Revoke = nil },
		"own field names": func(s *service) {
			s.guard.Header, s.config.KeyHeader = "X-Key", "x-key"
			s.guard.ReplayedHeader, s.config.ReplayedHeader = "X-Again", "x-again"
			s.guard.Strict = true
		},
		"layers around": func(s *service) {
			s.config.Fresh = []string{"x-served-by"}
			var n atomic.Int64
			s.around = header(func(h http.Header) {
				h.Set("X-Served-By", fmt.Sprint(n.Add(1)))
				h.Set("X-Request-Id", fmt.Sprint(n.Add(1)))
				h.Set("Access-Control-Allow-Origin", fmt.Sprint(n.Add(1)))
			})
		},
		"403": func(s *service) {
			s.guard.Principal = func(r *http.Request) (refrain.Scope, error) {
				scope, err := s.principal(r)
				if err != nil {
					err = errors.Join(refrain.ErrForbidden)
				}
				return scope, err
			}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService()
			change(s)
			s.check(t).want(t, "")
		})
	}
}

// header is a layer that sets fields before the guard answers.
func header(set func(http.Header)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			set(w.Header())
			next.ServeHTTP(w, r)
		})
	}
}

// TestEndpointSampleWithoutEffect: nothing else is worth reporting then.
func TestEndpointSampleWithoutEffect(t *testing.T) {
	t.Parallel()
	s := newService()
	s.handler = func(w http.ResponseWriter, _ *http.Request, _ memstore.Tx) error {
		w.WriteHeader(http.StatusNotFound)
		return nil
	}
	r := s.check(t)
	r.want(t, `refraintest: replay: the first request had 0 effects, want 1: 404 ""`)
	if len(r.reports) != 1 {
		t.Errorf("reports %q, want one", r.reports)
	}
}

func TestEndpointConfig(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	refraintest.Endpoint(r, http.NotFoundHandler(), refraintest.EndpointConfig{Clock: new(refraintest.Clock), Skip: []string{"replays"}})
	for _, field := range []string{"Path", "Credential", "OtherCredential", "Effects", "Contract", "OtherBody"} {
		r.want(t, "EndpointConfig."+field+" is missing")
	}
	r.want(t, "EndpointConfig.Skip names replays, which is no row")
	if len(r.reports) != 7 {
		t.Errorf("reports %q, want seven", r.reports)
	}
}

// TestEndpointSkip: a row that is skipped is not asked for.
func TestEndpointSkip(t *testing.T) {
	t.Parallel()
	s := newService()
	s.config.OtherBody, s.config.OtherCredential = "", nil
	s.config.Skip = []string{"another body", "another caller", "two key lines"}
	s.around = firstKeyLine
	s.check(t).want(t, "")
}
