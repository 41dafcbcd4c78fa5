//go:build linux

package serverfaults

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// TestServerDown takes the server away in every way a process can.
func TestServerDown(t *testing.T) {
	each(t, map[string]func(*fault){
		"stopped": func(f *fault) {
			f.server.Stop(f)
			f.refused("stopped", engines.Order{}, "9")
			f.unavailable()
			f.server.Start(f)
			f.repaired()
		},
		"killed behind the effect": func(f *fault) {
			f.refused("killed", engines.Order{Inside: func() { f.server.Kill(f) }}, "9", "10")
			f.server.Start(f)
			f.repaired()
		},
		"paused": func(f *fault) {
			f.server.Pause(f)
			f.refused("paused", engines.Order{}, "9")
			f.refused("before", engines.Order{}, "9") // an error is never an empty lookup, nor a replay
			f.server.Resume(f)
			f.repaired()
		},
		"paused behind the effect": func(f *fault) {
			f.refused("paused", engines.Order{Inside: func() { f.server.Pause(f) }}, "10", "14") // 14: at the record, before COMMIT
			f.server.Resume(f)
			f.repaired()
		},
		"restarted": func(f *fault) {
			f.server.Stop(f)
			f.server.Start(f)
			if _, err := f.ask("restarted", engines.Order{}); err != nil {
				f.Errorf("the first call after a restart: row %q, %v", engines.Row(err), err)
			}
			f.repaired()
		},
		"restarted behind the effect": func(f *fault) {
			f.ask("restarted", engines.Order{Inside: func() { f.server.Stop(f); f.server.Start(f) }})
			f.repaired()
		},
		"session killed in the effect": func(f *fault) {
			// The engine may run the effect again in another session.
			f.ask("killed", engines.Order{Inside: func() {
				for killed := true; killed; {
					var err error
					if killed, err = f.shop.KillSession(f.Context()); err != nil {
						f.Error(err)
					}
				}
			}})
			f.repaired()
		},
	})
}

// unavailable demands 503 of a guarded route.
func (f *fault) unavailable() {
	f.Helper()
	guard := refrainhttp.Guard{Principal: func(*http.Request) (refrain.Scope, error) { return refrain.Tenant("north"), nil }}
	contract := call("").Contract
	handler := f.engine.Handler(guard, contract, engines.Order{Token: "http"})
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(`{}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "over-http")
	handler.ServeHTTP(w, r)
	after, err := strconv.Atoi(w.Header().Get("Retry-After"))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Idempotency-Status") != "store-unavailable" || err != nil || after < 1 {
		f.Errorf("over HTTP: %d, %v, %s", w.Code, w.Header(), w.Body)
	}
	if text := w.Body.String(); strings.Contains(text, "127.0.0.1") || strings.Contains(text, "over-http") {
		f.Errorf("the answer tells too much: %s", text)
	}
}
