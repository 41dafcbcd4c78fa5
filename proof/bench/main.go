// Command bench prints what Refrain costs: each case as a ratio against the bare
// effect and against the naked prototype of the same SQL, taken in turns in one
// run. It passes no judgement and fails only if it cannot run.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/sqlite"

	"github.com/refrain-dev/refrain/proof/bench/engine"
	"github.com/refrain-dev/refrain/proof/bench/measure"
	"github.com/refrain-dev/refrain/proof/bench/naked"
	"github.com/refrain-dev/refrain/proof/bench/prints"
	"github.com/refrain-dev/refrain/proof/bench/web"
)

const preloaded = 20_000

var callers = []int{1, 8, 64}

type bench struct {
	dir      string
	rounds   int
	duration time.Duration
	only     string
	out      io.Writer
}

func main() {
	b := bench{out: os.Stdout}
	flag.IntVar(&b.rounds, "rounds", 7, "rounds per number of callers")
	flag.DurationVar(&b.duration, "duration", 1200*time.Millisecond, "length of one case in one round")
	dir := flag.String("dir", "", "directory for the databases (default: a temporary one)")
	flag.StringVar(&b.only, "only", "", "run this suite alone: full, normal, web, prints, postgres, mysql or external")
	flag.Parse()
	if err := b.run(context.Background(), *dir); err != nil {
		log.Fatal(err)
	}
}

func (b bench) run(ctx context.Context, dir string) (err error) {
	if b.dir, err = os.MkdirTemp(dir, "bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	fmt.Fprintf(b.out, "`go run ./bench %s` in proof/, %s, %d cores, %s/%s, %s.\n\n", strings.Join(os.Args[1:], " "),
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	ran := false
	for _, suite := range []struct {
		name string
		run  func(context.Context) error
	}{{"full", b.full}, {"normal", b.normal}, {"web", b.web}, {"prints", b.prints}, {"postgres", b.postgres}, {"mysql", b.mysql}, {"external", b.external}} {
		if b.only != "" && b.only != suite.name {
			continue
		}
		ran = true
		if err := suite.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", suite.name, err)
		}
	}
	if !ran {
		return fmt.Errorf("there is no suite %q", b.only)
	}
	return nil
}

// full compares the engine with the prototype at full durability.
func (b bench) full(ctx context.Context) error {
	n, err := naked.New(filepath.Join(b.dir, "naked.db"))
	if err != nil {
		return err
	}
	defer n.Close()
	if err := n.Preload(ctx, preloaded); err != nil {
		return err
	}
	e, err := engine.Open(ctx, filepath.Join(b.dir, "engine.db"), preloaded, sqlite.Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	cases := append(n.Cases("naked", preloaded), e.Cases("engine", "naked bare", preloaded)...)
	table, err := b.suite(ctx, "SQLite, WAL, synchronous=FULL", callers, cases)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "| callers | execute / naked single | execute / naked grouped |\n|--|--|--|\n")
	for _, c := range callers {
		single, err := table.Ratio(c, "engine execute", "naked single")
		if err != nil {
			return err
		}
		grouped, err := table.Ratio(c, "engine execute", "naked grouped")
		if err != nil {
			return err
		}
		fmt.Fprintf(b.out, "| %d | %.2f (%.2f–%.2f) | %.2f (%.2f–%.2f) |\n", c,
			single.Median, single.Min, single.Max, grouped.Median, grouped.Min, grouped.Max)
	}
	fmt.Fprintln(b.out)
	return e.Herd(ctx, b.out)
}

// normal shows what the durability of FULL costs on this disk.
func (b bench) normal(ctx context.Context) error {
	e, err := engine.Open(ctx, filepath.Join(b.dir, "normal.db"), preloaded, sqlite.Options{Normal: true})
	if err != nil {
		return err
	}
	defer e.Close()
	_, err = b.suite(ctx, "SQLite, WAL, synchronous=NORMAL (a power loss may take the latest effects and their records)",
		callers, e.Cases("engine", "", preloaded))
	return err
}

func (b bench) web(ctx context.Context) error {
	shop, err := web.Open(ctx, b.dir)
	if err != nil {
		return err
	}
	defer shop.Close()
	if _, err := b.suite(ctx, "HTTP guards, in process", []int{1, 8}, append(web.Cases(), shop.Cases()...)); err != nil {
		return err
	}
	return shop.Heartbeat(ctx, b.out)
}

func (b bench) prints(ctx context.Context) error {
	cases, err := prints.Cases()
	if err != nil {
		return err
	}
	_, err = b.suite(ctx, "Fingerprint of a JSON body", []int{1}, cases)
	return err
}

func (b bench) suite(ctx context.Context, title string, callers []int, cases []measure.Case) (measure.Table, error) {
	table, err := measure.Suite{Title: title, Callers: callers, Rounds: b.rounds, Duration: b.duration, Cases: cases}.Run(ctx)
	if err != nil {
		return table, err
	}
	if err := table.Markdown(b.out); err != nil {
		return table, err
	}
	_, err = fmt.Fprintln(b.out)
	return table, err
}
