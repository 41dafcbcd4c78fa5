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

func (m *Main) demo() *cobra.Command {
	f := demoFlags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Serve a small shop whose orders are safe to retry",
		Long: `demo serves an API on the real library, with a page to look at, and prints
requests to copy and paste: orders, whose effect commits with its record, and
quotes, whose handler commits for itself and can be told to fail. The database
is demo.db in the user's cache directory unless --db or --ephemeral says
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
	path, remove, err := m.demoDatabase(f.ephemeral)
	if err != nil {
		return err
	}
	defer remove()
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return misused("choose another --listen address; port 0 takes a free one", "%w", err)
	}
	defer listener.Close()
	if err := demoable(ctx, path); err != nil {
		return err
	}
	var decisions shop.Decisions
	db, err := open(path, sqlite.Options{Observer: &decisions})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if err := m.prepare(ctx, db, path); err != nil {
		return err
	}
	config.Database = "sqlite:" + path
	api, err := shop.New(ctx, db, config, &decisions)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // whoever has read the address may close the pipe; the demo goes on
	base := "http://" + listener.Addr().String()
	fmt.Fprintf(m.Stdout, "listening on %s\n", base)
	m.printSamples(base, config.Database)
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

// demoable refuses somebody else's database before it is opened as services do,
// which would change its journal.
func demoable(ctx context.Context, path string) (err error) {
	if kept, err := journalOf(path); err != nil || kept != rollback {
		return nil
	}
	db, err := openExisting(path)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if isEmpty, err := empty(ctx, db); err != nil || isEmpty {
		return err
	}
	return current(ctx, db, path)
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
