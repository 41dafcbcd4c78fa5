// Command mutants proves that the test suite notices when a guarantee is broken.
// It applies each small breakage named in proof/mutants.txt to a copy of one file,
// lets go test see that copy in place of the original, and demands a red run.
//
//	go run ./proof/mutants [-file name] [-only id] [-sample n [-seed text]] [-list] [-p 2] [-timeout 1m]
//
// A sample is another one every day, or with every seed.
// It exits with 1 when a mutant survives, no longer applies, does not build, or hangs.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// errNotKilled is returned when the table shows anything but killed mutants.
var errNotKilled = errors.New("not every mutant was killed")

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	only := flags.String("only", "", "run the mutants whose id begins with this")
	list := flags.Bool("list", false, "print the mutants and run nothing")
	parallel := flags.Int("p", 2, "mutants at a time")
	timeout := flags.Duration("timeout", time.Minute, "limit of one mutant's test run")
	root := flags.String("root", "", "root of the tree (default: the directory above that holds go.work)")
	sample := flags.Int("sample", 0, "try only so many, drawn by the seed (0: all)")
	seed := flags.String("seed", time.Now().UTC().Format(time.DateOnly), "what a sample is drawn by")
	file := flags.String("file", "proof/mutants.txt", "the mutants, relative to the root")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *parallel < 1 {
		return errors.New("-p must be at least 1")
	}
	if *root == "" {
		found, err := findRoot()
		if err != nil {
			return err
		}
		*root = found
	}
	mutants, err := load(filepath.Join(*root, filepath.FromSlash(*file)), *only)
	if err != nil {
		return err
	}
	if *sample > 0 && *sample < len(mutants) {
		fmt.Fprintf(stdout, "%d of %d mutants, seed %s\n", *sample, len(mutants), *seed)
		mutants = draw(mutants, *sample, *seed)
	}
	if *list {
		return printList(stdout, mutants)
	}
	results := runner{*root, *timeout}.all(ctx, mutants, *parallel)
	return printResults(stdout, results)
}

func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.work in any directory above")
		}
	}
}

func load(name, only string) ([]mutant, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	mutants, err := parse(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !strings.HasPrefix(m.ID, only) })
	if len(mutants) == 0 {
		return nil, fmt.Errorf("%s: no mutant named %q", filepath.Base(name), only)
	}
	return mutants, nil
}

// draw picks n mutants by the seed and leaves them in their order.
func draw(mutants []mutant, n int, seed string) []mutant {
	ticket := func(m mutant) string {
		sum := sha256.Sum256([]byte(seed + " " + m.ID))
		return string(sum[:])
	}
	tickets := make([]string, len(mutants))
	for i, m := range mutants {
		tickets[i] = ticket(m)
	}
	slices.Sort(tickets)
	return slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return ticket(m) >= tickets[n] })
}

// all tries every mutant, n at a time; results come in the order of the mutants.
func (r runner) all(ctx context.Context, mutants []mutant, n int) []result {
	results := make([]result, len(mutants))
	slots := make(chan struct{}, n)
	baselines := map[string]func() error{}
	var wg sync.WaitGroup
	for i, m := range mutants {
		key := strings.Join(append(m.Packages, m.Run), " ")
		if baselines[key] == nil {
			baselines[key] = sync.OnceValue(func() error { return r.baseline(ctx, m) })
		}
		baseline := baselines[key]
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := baseline(); err != nil {
				results[i] = result{Mutant: m, Verdict: broken, Detail: err.Error()}
				return
			}
			results[i] = r.try(ctx, m)
		})
	}
	wg.Wait()
	return results
}

func printList(w io.Writer, mutants []mutant) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, m := range mutants {
		fmt.Fprintf(table, "%s\t%s\t%s -run %s\n", m.ID, m.File, strings.Join(m.Packages, " "), m.Run)
	}
	return table.Flush()
}

func printResults(w io.Writer, results []result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	count := map[verdict]int{}
	for _, r := range results {
		count[r.Verdict]++
		fmt.Fprintf(table, "%s\t%s\t%.1fs\t%s\n", r.Verdict, r.Mutant.ID, r.Took.Seconds(), r.Detail)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d mutants: %d killed, %d survived, %d errors\n",
		len(results), count[killed], count[survived], count[broken])
	if count[killed] != len(results) {
		return errNotKilled
	}
	return nil
}
