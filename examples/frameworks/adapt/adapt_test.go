package adapt_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/refrain-dev/refrain/examples/frameworks/adapt"
)

func TestRoute(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"/accounts":                    "/accounts",
		"/accounts/:account":           "/accounts/{account}",
		"/accounts/:account/lines/:no": "/accounts/{account}/lines/{no}",
		"/files/*path":                 "/files/{path...}",
		"/files/*":                     "/files/{*...}",
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		adapt.Route(r, pattern, func(name string) string { return "value of " + name })
		if r.Pattern != want {
			t.Errorf("%s became %s, want %s", pattern, r.Pattern, want)
		}
		for _, name := range []string{"account", "no", "path"} {
			if value := r.PathValue(name); value != "" && value != "value of "+name {
				t.Errorf("%s: %s = %q", pattern, name, value)
			}
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	adapt.Route(r, "/a/:account", func(string) string { return "north" })
	if r.PathValue("account") != "north" {
		t.Errorf("account = %q", r.PathValue("account"))
	}
}

// TestHeld: a handler that is left to itself keeps the router, not the client.
func TestHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun, end := make(chan struct{}), make(chan struct{})
		abandoning := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				go next.ServeHTTP(httptest.NewRecorder(), r)
				<-begun
				w.WriteHeader(http.StatusConflict)
			})
		}
		w := httptest.NewRecorder()
		returned := false
		go func() {
			adapt.Held(abandoning)(w, httptest.NewRequest(http.MethodPost, "/", nil),
				func(http.ResponseWriter, *http.Request) { close(begun); <-end })
			returned = true
		}()
		synctest.Wait()
		if returned || !w.Flushed || w.Code != http.StatusConflict {
			t.Errorf("returned %t, flushed %t, %d", returned, w.Flushed, w.Code)
		}
		close(end)
		synctest.Wait()
		if !returned {
			t.Error("it did not return")
		}
	})
}

// TestHeldTooLate: a handler that begins when the router has its context back
// must not touch it.
func TestHeldTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := make(chan struct{})
		late := httptest.NewRecorder()
		abandoning := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				go func() { <-start; next.ServeHTTP(late, r) }()
			})
		}
		adapt.Held(abandoning)(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil),
			func(http.ResponseWriter, *http.Request) { t.Error("it ran") })
		close(start)
		synctest.Wait()
		if late.Code != http.StatusServiceUnavailable {
			t.Errorf("late = %d", late.Code)
		}
	})
}
