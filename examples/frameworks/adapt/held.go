package adapt

import (
	"context"
	"net/http"

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
		h := &held{next: next, turn: make(chan struct{}, 1)}
		defer h.wait(w)
		guarded.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), heldKey{}, h)))
	}
}

type heldKey struct{}

// held is one request.
type held struct {
	next http.HandlerFunc
	turn chan struct{} // full while next runs, and when the router has its context back
}

func (h *held) serve(w http.ResponseWriter, r *http.Request) {
	select {
	case h.turn <- struct{}{}:
	default: // given up before it began
		refrainhttp.NotStarted(w)
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	defer func() { <-h.turn }()
	h.next(w, r)
}

func (h *held) wait(w http.ResponseWriter) {
	select {
	case h.turn <- struct{}{}:
	default:
		_ = http.NewResponseController(w).Flush()
		h.turn <- struct{}{}
	}
}
