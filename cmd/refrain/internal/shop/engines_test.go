package shop

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/enginetest"
)

// TestOnEveryEngine: what a client may send and be told is the same, at the edges
// of the columns as well.
func TestOnEveryEngine(t *testing.T) {
	enginetest.Each(t, enginetest.Engines, func(t *testing.T, db string) {
		s := openShop(t, enginetest.Place(t, db), usual)
		const most = int64(1<<63 - 1)
		for i, sku := range []string{"A", strings.Repeat("🖋", maxSKU), "a", "A ", "ß", `'; -- ?`} {
			body := fmt.Sprintf(`{"sku":%q,"quantity":%d}`, sku, most-int64(i))
			made := decode[order](t, s.order(t, north, fmt.Sprint("k", i), body), http.StatusCreated)
			again := s.order(t, north, fmt.Sprint("k", i), body)
			if made.SKU != sku || made.Quantity != most-int64(i) || again.Header().Get("Idempotent-Replayed") != "true" {
				t.Errorf("made %+v, replayed %v", made, again.Header())
			}
			if read := decode[order](t, s.get(t, north, "/v1/orders/"+made.ID), http.StatusOK); read != made {
				t.Errorf("read %+v, made %+v", read, made)
			}
			if shouted := "/v1/orders/" + strings.ToUpper(made.ID); s.get(t, north, shouted).Code != http.StatusNotFound {
				t.Errorf("%s was found", shouted)
			}
		}
		listed := decode[struct {
			Count  int
			Orders []order
		}](t, s.get(t, north, "/v1/orders?limit=2"), http.StatusOK)
		if listed.Count != 6 || len(listed.Orders) != 2 || listed.Orders[0].SKU != `'; -- ?` || listed.Orders[1].SKU != "ß" {
			t.Errorf("listed %+v", listed)
		}
		if n := s.count(t, south); n != 0 {
			t.Errorf("the other tenant has %d", n)
		}

		text := strings.Repeat("☃", maxText)
		wantStatus(t, s.asksQuote(t, north, "q", fmt.Sprintf(`{"text":%q}`, text)), http.StatusCreated)
		wantStatus(t, s.asksQuote(t, north, "lost", `{"text":"B","fail":"after"}`), http.StatusInternalServerError)
		quotes := s.listedQuotes(t, north)
		if quotes.Count != 2 || quotes.Quotes[1].Text != text {
			t.Errorf("listed %+v", quotes)
		}
		page := s.get(t, north, "/").Body.String()
		for _, part := range []string{text, strings.Repeat("🖋", maxSKU), "quote " + quotes.Quotes[0].ID + " carries this reference"} {
			if !strings.Contains(page, part) {
				t.Errorf("the page has no %s", part)
			}
		}
		for _, id := range []string{"none", "%00", "%ff", "a%00b", "%27"} {
			for _, path := range []string{"/v1/orders/", "/v1/quotes/"} {
				wantProblem(t, s.get(t, north, path+id), http.StatusNotFound, "not-found")
			}
		}
	})
}

// TestShopsOpenTogether: processes that start at the same moment make the tables
// once.
func TestShopsOpenTogether(t *testing.T) {
	enginetest.Each(t, enginetest.Servers, func(t *testing.T, db string) {
		at := enginetest.Place(t, db)
		gate := make(chan struct{})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				<-gate
				openShop(t, at, usual)
			})
		}
		close(gate)
		all.Wait()
	})
}
