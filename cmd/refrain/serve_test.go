package main

import (
	"context"
	"errors"
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
	f := (&Main{started: true}).diagnose(err, "")
	if err == nil || f.code != exitDatabase || !strings.Contains(f.hint, "refrain ops list") || !strings.HasPrefix(f.Error(), "requests under way were cut off after 20ms") {
		t.Errorf("serve returned %v", err)
	}
}

// TestBesideEndsInOrder: what requests wait for goes on until they are answered,
// and its failure ends serving.
func TestBesideEndsInOrder(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	run := func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	}
	var early error
	running := make(chan context.Context, 1)
	err := beside(ctx, func(ctx context.Context) error { running <- ctx; return run(ctx) }, func(ctx context.Context) error {
		<-ctx.Done()
		early = (<-running).Err()
		return nil
	})
	if err != nil || early != nil {
		t.Errorf("ended with %v, %v while requests were under way", err, early)
	}
	broken := errors.New("broken")
	err = beside(context.Background(), func(context.Context) error { return broken }, run)
	if !errors.Is(err, broken) {
		t.Errorf("ended with %v, want %v", err, broken)
	}
}
