package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/sqlite"

	"github.com/refrain-dev/refrain/proof/bench/measure"
)

// Shop is a SQLite engine behind both guards.
type Shop struct{ db *sqlite.DB }

// Open opens one in dir.
func Open(ctx context.Context, dir string) (*Shop, error) {
	db, err := sqlite.Open(filepath.Join(dir, "web.db"))
	if err != nil {
		return nil, err
	}
	return &Shop{db}, db.Migrate(ctx)
}

// Close closes it.
func (s *Shop) Close() error { return s.db.Close(context.Background()) }

// Cases are the rows on SQLite: what a handler without any work of its own
// costs behind each guard.
func (s *Shop) Cases() []measure.Case {
	handled := refrainhttp.Handle(guard, s.db, contract,
		func(w http.ResponseWriter, r *http.Request, _ sqlite.Tx) error { return create(w, r) })
	wrapped := contract
	wrapped.Operation = "orders.wrapped"
	return []measure.Case{
		{Name: "handler behind Handle, SQLite", Base: "bare handler", Op: post(handled)},
		{Name: "handler behind Wrap, SQLite", Base: "bare handler", Op: post(refrainhttp.Wrap(guard, s.db, wrapped, bare))},
	}
}

const (
	openClaims = 1000
	beating    = 6 * time.Second
)

// Heartbeat measures what 1,000 open claims cost while their handlers only wait:
// processor time of the whole process for the extensions of their leases.
func (s *Shop) Heartbeat(ctx context.Context, w io.Writer) error {
	c := contract
	c.Operation, c.Lease = "orders.beating", 3*time.Second
	release := make(chan struct{})
	var begun, ended sync.WaitGroup
	begun.Add(openClaims)
	waiting := refrainhttp.Wrap(guard, s.db, c, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun.Done()
		<-release
		_ = create(w, r)
	}))
	errs := make(chan error, openClaims)
	for range openClaims {
		ended.Go(func() { errs <- post(waiting)(ctx, 0, 0) })
	}
	begun.Wait()
	before := cpu()
	time.Sleep(beating) // the claims' leases are extended meanwhile
	used := cpu() - before
	close(release)
	ended.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return fmt.Errorf("a claim that was kept alive: %w", err)
		}
	}
	perBeat := used / (openClaims * time.Duration(beating/(c.Lease/3)))
	_, err := fmt.Fprintf(w, "#### Heartbeat of %d open claims, lease %v, %v\n\n"+
		"| processor time | per extension | of one core | of one core at the default lease of 30s |\n|--|--|--|--|\n| %v | %v | %.1f %% | %.1f %% |\n\n",
		openClaims, c.Lease, beating, used.Round(time.Millisecond), perBeat.Round(time.Microsecond),
		100*float64(used)/float64(beating), 100*float64(used)/float64(beating)*float64(c.Lease)/float64(refrain.DefaultLease))
	return err
}

// cpu is the processor time this process has used.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
