package adapt

import (
	"context"
	"net/http"
	"sync"

	"github.com/refrain-dev/refrain/refrainhttp"
)

// Held makes one handler of mw that is given what differs between requests, and
// does not return before next has. Routers that take their context from a pool
// need that: refrainhttp.Wrap leaves a handler that outlives MaxExecution to
// itself, and the next request would find its context in use. The client of such
// a handler is answered at once, where the writer can be flushed.
//
// mw is applied here and now, so a contract that is not fit panics at start-up.
func Held(mw func(http.Handler) http.Handler) func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	guarded := mw(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Context().Value(heldKey{}).(*held).serve(w, r)
	}))
	return func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		h := &held{next: next}
		defer h.wait(w)
		guarded.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), heldKey{}, h)))
	}
}

type heldKey struct{}

// held is one request.
type held struct {
	next http.HandlerFunc
	mu   sync.Mutex // held while next runs
	over bool       // the router has its context back
}

func (h *held) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over { // given up before it began
		refrainhttp.NotStarted(w)
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	h.next(w, r)
}

func (h *held) wait(w http.ResponseWriter) {
	if !h.mu.TryLock() {
		_ = http.NewResponseController(w).Flush()
		h.mu.Lock()
	}
	h.over = true
	h.mu.Unlock()
}
