package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/shop"
	"github.com/refrain-dev/refrain/upkeep"
)

func (m *Main) demo() *cobra.Command {
	f := demoFlags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Serve a small shop whose orders are safe to retry",
		Long: `demo serves an API on the real library, with a page to look at, and prints
requests to copy and paste: orders, whose effect commits with its record,
quotes, whose handler commits for itself and can be told to fail, and payments,
whose effect is a charge at a provider that can be told to fail. The provider
listens on a port of its own on 127.0.0.1 and forgets everything with the
process. The database is demo.db in the user's cache directory unless --db or --ephemeral says
otherwise; an empty one is migrated. Anybody who reaches the address may use it.
Stop it with an interrupt.`,
		Args: noArguments(databaseHint),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("skew") {
				f.skew = min(5*time.Minute, f.remember/4)
			}
			return m.runDemo(cmd.Context(), f)
		},
	}
	f.add(cmd)
	return cmd
}

// runDemo takes the address before it opens a database: where another demo has
// it already, nothing was migrated.
func (m *Main) runDemo(ctx context.Context, f demoFlags) (err error) {
	config, err := f.config()
	if err != nil {
		return err
	}
	at, remove, err := m.demoDatabase(f.ephemeral)
	if err != nil {
		return err
	}
	defer remove()
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return misused("choose another --listen address; port 0 takes a free one", "%w", err)
	}
	defer listener.Close()
	if err := demoable(ctx, at); err != nil {
		return err
	}
	var decisions shop.Decisions
	db, err := at.Open(ctx, engine.Options{Observer: &decisions})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if err := m.prepare(ctx, db, at); err != nil {
		return err
	}
	config.Database = at.String()
	api, err := shop.New(ctx, db, config, &decisions)
	if err != nil {
		return err
	}
	run := []func(context.Context) error{api.Run, untilDone((&upkeep.Reaper{Store: db}).Run)}
	watch, err := m.watch(ctx, db, f.witness)
	if err != nil {
		return err
	}
	if watch != nil {
		run = append(run, watch)
	}
	signal.Ignore(syscall.SIGPIPE) // whoever has read the address may close the pipe; the demo goes on
	base := "http://" + listener.Addr().String()
	fmt.Fprintf(m.Stdout, "listening on %s\n", base)
	m.printSamples(base, config.Database)
	return beside(ctx, together(run...), func(ctx context.Context) error { return serve(ctx, listener, api, drainFor+f.delay) })
}

// together runs all until ctx ends or the first of them fails.
func together(runs ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error, len(runs))
		for _, run := range runs {
			go func() {
				defer stop()
				ended <- run(ctx)
			}()
		}
		var err error
		for range runs {
			err = errors.Join(err, <-ended)
		}
		return err
	}
}

// untilDone is a loop that is meant to end with its context.
func untilDone(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := run(ctx); ctx.Err() == nil {
			return err
		}
		return nil
	}
}

// beside serves while run works. Requests under way may wait for what run does, so
// run is told to end after them; where it fails, serving ends, too.
func beside(ctx context.Context, run, serve func(context.Context) error) error {
	serving, fail := context.WithCancel(ctx)
	defer fail()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer fail()
		ended <- run(running)
	}()
	err := serve(serving)
	stop()
	return errors.Join(err, <-ended)
}

// demoDatabase is where the demo works, and what removes it.
func (m *Main) demoDatabase(ephemeral bool) (at engine.Place, remove func(), err error) {
	remove = func() {}
	if ephemeral {
		if m.db != "" {
			return nil, nil, misused("give one of the two", "--ephemeral and --db name two databases")
		}
		dir, err := os.MkdirTemp("", "refrain-demo-")
		return engine.File(filepath.Join(dir, "demo.db")), func() { os.RemoveAll(dir) }, err
	}
	if at, err = m.database(); err != nil || at != nil {
		return at, remove, err
	}
	cache, err := m.CacheDir()
	if err != nil {
		return nil, nil, unusable("name a database with --db", "the default database: %w", err)
	}
	dir := filepath.Join(cache, "refrain")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, unusable("name a database with --db", "the default database: %w", err)
	}
	return engine.File(filepath.Join(dir, "demo.db")), remove, nil
}

func (m *Main) printSamples(base, database string) {
	samples := shop.Samples(base, database)
	if m.json {
		_ = printJSON(m.Stdout, map[string]any{"url": base, "database": database, "requests": samples})
		return
	}
	for _, s := range samples {
		fmt.Fprintf(m.Stdout, "\n# %s\n", s.Shows)
		if s.Command == "" {
			fmt.Fprintf(m.Stdout, "# answers %d %s\n", s.Status, http.StatusText(s.Status))
		}
		fmt.Fprintln(m.Stdout, s.Line())
	}
	fmt.Fprintf(m.Stdout, "\n# the same to look at: %s/\n", base)
}

// drainFor is how long requests under way may still take at the end.
const drainFor = 10 * time.Second

// serve answers until ctx ends, then lets the requests under way finish.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, drain time.Duration) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := server.Shutdown(bounded); err != nil {
		return unusable("their outcome is unknown once their lease is past; refrain ops list shows them",
			"requests under way were cut off after %v: %w", drain, errors.Join(err, server.Close()))
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
