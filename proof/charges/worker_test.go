//go:build linux

package charges

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

const settingVariable = "REFRAIN_CHARGES"

// TestMain runs the tests, or a worker where a test started this binary as one.
func TestMain(m *testing.M) {
	if text := os.Getenv(settingVariable); text != "" {
		if err := work(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil { // most of a trial is waiting for a lease
		panic(err)
	}
	os.Exit(m.Run())
}

// process is a worker, which is hit at its step.
type process struct {
	setting
	hit atomic.Bool
}

// work serves payments, and runs them once it is told "run"; "stop", or the end of
// its parent, ends it when what it began is written.
func work(text string) error {
	p := new(process)
	if err := json.Unmarshal([]byte(text), &p.setting); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	d, err := p.open(ctx)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: d, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	fmt.Println(listener.Addr())
	ran := make(chan error, 1)
	ran <- nil
	told := bufio.NewScanner(os.Stdin)
	for told.Scan() && told.Text() == "run" {
		<-ran
		go func() { ran <- d.run(ctx) }()
	}
	_ = server.Shutdown(ctx)
	stop()
	if err := <-ran; err != nil {
		return err
	}
	return d.close(context.Background())
}

// reach hits the worker if that is its step. One that was stopped goes on when it
// is told to.
func (p *process) reach(here step) {
	if p.At != here || p.At == nowhere || p.hit.Swap(true) {
		return
	}
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGCONT)
	_ = syscall.Kill(os.Getpid(), p.Signal)
	<-woken // the signal may take a moment to reach this thread
}

// Observe shows what a person would be alerted of.
func (p *process) Observe(_ context.Context, e external.Event) {
	if e.Kind == external.Panicked {
		fmt.Fprintln(os.Stderr, e.Err)
	}
}

// watched is a store in which the worker meets its steps.
type watched[T any] struct {
	operation.Store[T]
	p *process
}

func (w *watched[T]) Take(ctx context.Context, provider string, limit int, decide func(operation.Seen) operation.Edit) ([]operation.Operation, time.Time, error) {
	opened := false
	taken, now, err := w.Store.Take(ctx, provider, limit, func(seen operation.Seen) operation.Edit {
		edit := decide(seen)
		if opens(seen, edit) {
			opened = true
			w.p.reach(inClaim)
		}
		return edit
	})
	if opened && err == nil {
		w.p.reach(afterClaim)
	}
	return taken, now, err
}

func (w *watched[T]) Change(ctx context.Context, ref string, decide func(context.Context, T, operation.Seen) (operation.Edit, error)) error {
	opened, settled := false, false
	err := w.Store.Change(ctx, ref, func(ctx context.Context, tx T, seen operation.Seen) (operation.Edit, error) {
		edit, err := decide(ctx, tx, seen)
		switch {
		case err != nil:
		case opens(seen, edit):
			opened = true
			w.p.reach(inClaim)
		case edit.Put != nil && edit.Put.State.Final() && !seen.Operation.State.Final():
			settled = true
			w.p.reach(inSettle)
		}
		return edit, err
	})
	switch {
	case err != nil:
	case opened:
		w.p.reach(afterClaim)
	case settled:
		w.p.reach(afterSettle)
	}
	return err
}

func opens(seen operation.Seen, edit operation.Edit) bool {
	return edit.Put != nil && edit.Put.State == record.Submitted && len(edit.Put.Attempts) > len(seen.Operation.Attempts)
}
