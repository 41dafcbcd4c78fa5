package shop

import (
	"net/http"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/refrainhttp"
)

// TestProblemsHaveABaseOfTheirOwn: what the shop answers does not pass for the
// library's, and its page tells what it means.
func TestProblemsHaveABaseOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	own := wantProblem(t, s.order(t, north, "k", `{"sku":"SOLD-OUT","quantity":1}`), http.StatusConflict, "out-of-stock")
	if own.Type != "/problems#out-of-stock" {
		t.Errorf("the shop's problem has the type %s", own.Type)
	}
	if guards := wantProblem(t, s.order(t, north, "", `{}`), http.StatusBadRequest, "key-missing"); guards.Type != refrainhttp.DefaultProblemBase+"#key-missing" {
		t.Errorf("the guard's problem has the type %s", guards.Type)
	}
	w := s.answers(t, request{method: "GET", target: "/problems"})
	wantStatus(t, w, http.StatusOK)
	for _, p := range problems {
		if !strings.Contains(w.Body.String(), `<section id="`+p.Name+`"`) || p.Title == "" || p.Means == "" || p.Status < 400 {
			t.Errorf("%+v is not described", p)
		}
	}
}
