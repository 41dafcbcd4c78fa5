package refrainhttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/upkeep"
)

// TestStoreClockDecides: the server's clock is not the store's, whichever is
// ahead. Nothing that is remembered or allowed depends on the server's.
func TestStoreClockDecides(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-100 * 24 * time.Hour, 0, 100 * 24 * time.Hour} {
		db := memstore.New(memstore.Options{Now: func() time.Time { return noon }})
		g := guard
		g.Now = func() time.Time { return noon.Add(ahead) }
		c := orders
		c.KeyOptional = true
		mux := http.NewServeMux()
		mux.Handle("/orders", refrainhttp.Handle(g, db, c, place))
		mux.Handle("/v1/operations/", refrainhttp.Status(g, db, c))
		s := &shop{t: t, db: db, http: mux}

		if res := s.post(""); res.StatusCode != 201 {
			t.Errorf("%v ahead: a request without a key = %d %s", ahead, res.StatusCode, text(t, res))
		}
		c.Observe = true
		s.http = refrainhttp.Handle(g, db, c, place)
		if res := s.post(`"`); res.StatusCode != 201 {
			t.Errorf("%v ahead: observed = %d %s", ahead, res.StatusCode, text(t, res))
		}
		s.http = mux
		ref := s.post(secretKey).Header.Get("Idempotency-Ref")
		if res := s.do(httptest.NewRequest("GET", "/v1/operations/"+ref, nil)); res.StatusCode != 200 {
			t.Errorf("%v ahead: status by ref = %d", ahead, res.StatusCode)
		}
		s.wantEffects(3)
	}
}

// TestKeylessPassesAFence: a request without a key cannot be a retry, so no
// recovery fence holds it up and nothing is kept for review.
func TestKeylessPassesAFence(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{Now: func() time.Time { return noon }})
	if _, err := db.SetFence(t.Context(), upkeep.Fence{Until: noon, Reason: "restore", By: "test"}); err != nil {
		t.Fatal(err)
	}
	c := orders
	c.KeyOptional = true
	s := &shop{t: t, db: db, http: refrainhttp.Handle(guard, db, c, place)}
	if res := s.post(""); res.StatusCode != 201 {
		t.Errorf("without a key = %d %s", res.StatusCode, text(t, res))
	}
	if res := s.post(secretKey); res.StatusCode != 412 {
		t.Errorf("with a key = %d %s", res.StatusCode, text(t, res))
	}
	if reviews, err := db.Reviews(t.Context(), upkeep.ReviewQuery{}); err != nil || len(reviews) != 1 {
		t.Errorf("%d reviews, %v; want that of the key", len(reviews), err)
	}
	s.wantEffects(1)
}
