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

	"github.com/refrain-dev/refrain/cmd/refrain/internal/shop"
	"github.com/refrain-dev/refrain/sqlite"
)

// demoFlags are the demo's own flags as they were given.
type demoFlags struct {
	listen              string
	ephemeral           bool
	replayFor, remember time.Duration
	wait, skew, delay   time.Duration
}

var demoDefaults = demoFlags{
	listen: "127.0.0.1:8080", replayFor: 24 * time.Hour, remember: 720 * time.Hour, wait: 2 * time.Second,
}

func (m *Main) demo() *cobra.Command {
	f, def := demoFlags{}, demoDefaults
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Serve a small shop whose orders are safe to retry",
		Long: `demo serves an order API on the real library, with a page to look at, and
prints requests to copy and paste. The database is demo.db in the user's cache
directory unless --db or --ephemeral says otherwise; an empty one is migrated.
Anybody who reaches the address may use it. Stop it with an interrupt.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("skew") {
				f.skew = min(5*time.Minute, f.remember/4)
			}
			return m.runDemo(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", def.listen, "`address` to listen on; port 0 takes a free one")
	flags.BoolVar(&f.ephemeral, "ephemeral", false, "use a temporary database, removed at exit")
	flags.DurationVar(&f.replayFor, "replay-for", def.replayFor, "how long full results are replayed")
	flags.DurationVar(&f.remember, "remember-for", def.remember, "how long actions are recognised")
	flags.DurationVar(&f.wait, "wait", def.wait, "how long a duplicate waits for the first; 0s: not at all")
	flags.DurationVar(&f.skew, "skew", 0, "tolerated clock difference to clients; 0s: none (default: 5m or a quarter of --remember-for, whichever is less)")
	flags.DurationVar(&f.delay, "effect-delay", 0, "how long an order takes after its insert; 0s: no time")
	return cmd
}

// config is the shop's, where zero means the contract's default: here it means none.
func (f demoFlags) config() (shop.Config, error) {
	for name, d := range map[string]time.Duration{"--wait": f.wait, "--skew": f.skew, "--effect-delay": f.delay} {
		if d < 0 {
			return shop.Config{}, misused("0s means none", "%s is %v, less than nothing", name, d)
		}
	}
	c := shop.Config{ReplayFor: f.replayFor, RememberFor: f.remember, Wait: orNone(f.wait), Skew: orNone(f.skew), Delay: f.delay}
	if err := c.Contract().Validate(); err != nil {
		return c, misused("durations are written 90s, 5m, 24h", "%w", err)
	}
	return c, nil
}

func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

func (m *Main) runDemo(ctx context.Context, f demoFlags) (err error) {
	config, err := f.config()
	if err != nil {
		return err
	}
	path, remove, err := m.demoDatabase(f.ephemeral)
	if err != nil {
		return err
	}
	defer remove()
	var decisions shop.Decisions
	db, err := open(path, sqlite.Options{Observer: &decisions})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if err := m.prepare(ctx, db, path); err != nil {
		return err
	}
	api, err := shop.New(ctx, db, config, &decisions)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return misused("choose another --listen address; port 0 takes a free one", "%w", err)
	}
	signal.Ignore(syscall.SIGPIPE) // whoever has read the address may close the pipe; the demo goes on
	base := "http://" + listener.Addr().String()
	fmt.Fprintf(m.Stdout, "listening on %s\n", base)
	m.printSamples(base, path)
	return serve(ctx, listener, api, drainFor+f.delay)
}

// demoDatabase is the path of the demo's file, and what removes it.
func (m *Main) demoDatabase(ephemeral bool) (path string, remove func(), err error) {
	remove = func() {}
	if ephemeral {
		if m.db != "" {
			return "", nil, misused("give one of the two", "--ephemeral and --db name two databases")
		}
		dir, err := os.MkdirTemp("", "refrain-demo-")
		return filepath.Join(dir, "demo.db"), func() { os.RemoveAll(dir) }, err
	}
	if path, err = m.database(); err != nil || path != "" {
		return path, remove, err
	}
	cache, err := m.CacheDir()
	if err != nil {
		return "", nil, unusable("name a file with --db "+schemes, "the default database: %w", err)
	}
	dir := filepath.Join(cache, "refrain")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, unusable("name a file with --db "+schemes, "the default database: %w", err)
	}
	return filepath.Join(dir, "demo.db"), remove, nil
}

// prepare migrates an empty database and says so; any other must be current.
// Whether it is empty is asked first: another demo may migrate it meanwhile.
func (m *Main) prepare(ctx context.Context, db *sqlite.DB, path string) error {
	isEmpty, err := empty(ctx, db)
	if err != nil {
		return unusable("check that the file is a SQLite database", "read sqlite:%s: %w", path, err)
	}
	if isEmpty {
		if err := db.Migrate(ctx); err != nil {
			return err
		}
		fmt.Fprintf(m.Stderr, "migrated the empty database sqlite:%s\n", path)
	}
	return current(ctx, db, path)
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
		return errors.Join(err, server.Close())
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (m *Main) printSamples(base, path string) {
	samples := shop.Samples(base)
	if m.json {
		_ = printJSON(m.Stdout, map[string]any{"url": base, "database": "sqlite:" + path, "requests": samples})
		return
	}
	for _, s := range samples {
		fmt.Fprintf(m.Stdout, "\n# %s\n# answers %d %s\n%s\n", s.Shows, s.Status, http.StatusText(s.Status), s.Curl())
	}
	fmt.Fprintf(m.Stdout, "\n# the same to look at: %s/\n", base)
}
