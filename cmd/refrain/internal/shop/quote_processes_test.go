package shop

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/enginetest"
)

// TestQuoteInAnotherProcess: a duplicate in another process waits for the first,
// by polling: the database's writer is free all the while. Then it is told that the
// first is in progress, and once that has ended it gets the answer.
func TestQuoteInAnotherProcess(t *testing.T) {
	enginetest.Each(t, enginetest.Engines, quoteElsewhere)
}

func quoteElsewhere(t *testing.T, db string) {
	const wait = 3 * time.Second // longer than a busy machine takes for three orders
	at := enginetest.Place(t, db)
	config := usual
	config.Wait = wait
	one, other := openShop(t, at, config), openShop(t, at, config)
	inside, release := make(chan struct{}), make(chan struct{})
	one.pause = func(context.Context, time.Duration) error {
		close(inside)
		<-release
		return nil
	}
	first := make(chan *httptest.ResponseRecorder, 1)
	go func() { first <- one.asksQuote(t, north, "q", `{"text":"A"}`) }()
	<-inside

	began := time.Now()
	duplicate := make(chan *httptest.ResponseRecorder, 1)
	go func() { duplicate <- other.asksQuote(t, north, "q", `{"text":"A"}`) }()
	orders := 0
	var told *httptest.ResponseRecorder
	for told == nil {
		wantStatus(t, other.order(t, south, FreshKey(), `{"sku":"A","quantity":1}`), http.StatusCreated)
		select {
		case told = <-duplicate:
		default:
			orders++
		}
	}
	if took := time.Since(began); took < wait {
		t.Errorf("the duplicate waited %v of %v", took, wait)
	}
	if orders < 3 {
		t.Errorf("%d orders while it waited: the writer was not free", orders)
	}
	if ref := wantProblemRef(t, told, "in-progress"); ref == "" || one.state(t, "q") != "submitted" || other.state(t, "q") != "submitted" {
		t.Errorf("ref %q, states %q and %q", ref, one.state(t, "q"), other.state(t, "q"))
	}

	close(release)
	made := <-first
	wantStatus(t, made, http.StatusCreated)
	again := other.asksQuote(t, north, "q", `{"text":"A"}`)
	if again.Code != http.StatusCreated || again.Body.String() != made.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("the other process got %d %s", again.Code, again.Body)
	}
	if n := other.listedQuotes(t, north).Count; n != 1 {
		t.Errorf("%d quotes, want 1", n)
	}
}
