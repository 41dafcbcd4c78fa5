package main

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestServeCutsOff: a request that does not end in time is cut off, and whoever
// stopped the demo is told where its outcome is found.
func TestServeCutsOff(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	inside, cut := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(inside)
		<-r.Context().Done()
		close(cut)
	})
	served := make(chan error, 1)
	go func() { served <- serve(ctx, listener, handler, 20*time.Millisecond) }()
	answered := make(chan error, 1)
	go func() {
		answer, err := http.Get("http://" + listener.Addr().String())
		if err == nil {
			answer.Body.Close()
		}
		answered <- err
	}()
	<-inside
	cancel()
	err = <-served
	<-cut
	if err := <-answered; err == nil {
		t.Error("the request was answered")
	}
	f := diagnose(err, true, "")
	if err == nil || f.code != exitDatabase || !strings.Contains(f.hint, "refrain ops list") || !strings.HasPrefix(f.Error(), "requests under way were cut off after 20ms") {
		t.Errorf("serve returned %v", err)
	}
}
