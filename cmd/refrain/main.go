// Command refrain shows, checks and looks after services built on the library:
// a demo shop, a tour of the guarantee, migrations, contracts, and the settings
// that decide durability. docs/cli.md describes every command.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
)

func main() {
	// Never stopped: a process group and its manager may both send the signal,
	// and the second must not cut off what the first one ends in order.
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	m := Main{Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, CacheDir: os.UserCacheDir}
	os.Exit(m.Run(ctx, os.Args[1:]))
}

// Main is the program as a value: what it takes from its process, so that a
// test can run it in its own.
type Main struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	CacheDir       func() (string, error)

	db      string       // --db
	at      engine.Place // what it names, once it was read
	json    bool         // --json
	started bool         // a command runs: its arguments were right
}

// Run runs one command line, without the program's name, and returns the exit
// code. It returns soon after ctx ends.
func (m *Main) Run(ctx context.Context, args []string) int {
	root := m.root()
	root.SetArgs(args)
	if cmd, err := root.ExecuteContextC(ctx); err != nil {
		f := m.diagnose(err, helpOf(cmd))
		f.print(m.Stderr)
		return f.code
	}
	return exitOK
}

func (m *Main) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "refrain",
		Short: "Repeat the answer, refrain from repeating the effect",
		Long: `refrain makes retried requests safe: repeat the answer, refrain from repeating
the effect.

Exit codes: 0 ok; 1 a check found a difference; 2 usage; 3 the database or
service is unreachable, unmigrated or newer than this binary.`,
		Args:             cobra.NoArgs,
		SilenceErrors:    true,
		SilenceUsage:     true,
		PersistentPreRun: func(*cobra.Command, []string) { m.started = true },
		RunE:             func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	root.PersistentFlags().StringVar(&m.db, "db", "", "database, `URL`: sqlite:PATH, postgres://…, mysql://… (or the environment's REFRAIN_DB)")
	root.PersistentFlags().BoolVar(&m.json, "json", false, "print one JSON document")
	root.AddCommand(m.demo(), m.tour(), m.migrate(), m.contract(), m.ops(), m.reap(), m.archive(),
		m.fence(), m.review(), m.rebuild(), m.verify(), m.once(), m.doctor(), m.version())
	return root
}
