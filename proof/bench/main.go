// Command bench prints what the engine costs: each case as a ratio against
// the bare effect and against the naked prototype of the same SQL, taken in
// turns in one run. It passes no judgement and fails only if it cannot run.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/refrain-dev/refrain/sqlite"

	"github.com/refrain-dev/refrain/proof/bench/engine"
	"github.com/refrain-dev/refrain/proof/bench/measure"
	"github.com/refrain-dev/refrain/proof/bench/naked"
)

const preloaded = 20_000

func main() {
	rounds := flag.Int("rounds", 7, "rounds per number of callers")
	duration := flag.Duration("duration", 1200*time.Millisecond, "length of one case in one round")
	dir := flag.String("dir", "", "directory for the databases (default: a temporary one)")
	flag.Parse()
	if err := run(*dir, *rounds, *duration); err != nil {
		log.Fatal(err)
	}
}

func run(dir string, rounds int, duration time.Duration) error {
	temp, err := os.MkdirTemp(dir, "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	n, err := naked.New(filepath.Join(temp, "naked.db"))
	if err != nil {
		return err
	}
	defer n.Close()
	ctx := context.Background()
	if err := n.Preload(ctx, preloaded); err != nil {
		return err
	}
	e, err := engine.Open(ctx, filepath.Join(temp, "engine.db"), preloaded, sqlite.Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	table, err := measure.Suite{
		Title:    "SQLite, WAL, synchronous=FULL",
		Callers:  []int{1, 8, 64},
		Rounds:   rounds,
		Duration: duration,
		Cases:    append(n.Cases("naked", preloaded), e.Cases("engine", "naked bare", preloaded)...),
	}.Run(ctx)
	if err != nil {
		return err
	}
	return table.Markdown(os.Stdout)
}
