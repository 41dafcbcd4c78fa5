// Command drivers compares the two pure-Go SQLite drivers the engine could
// stand on: the same SQL through database/sql, in turns, and what each lets
// an engine forbid, see and interrupt. docs/engines/sqlite-driver.md holds
// the decision.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"github.com/refrain-dev/refrain/proof/bench/measure"
	"github.com/refrain-dev/refrain/proof/bench/naked"
)

const preloaded = 20_000

func main() {
	rounds := flag.Int("rounds", 5, "rounds per number of callers; 0 compares the abilities only")
	duration := flag.Duration("duration", 1200*time.Millisecond, "length of one case in one round")
	dir := flag.String("dir", "", "directory for the databases (default: a temporary one)")
	fsync := flag.Bool("fsync", false, "leave modernc at its default, fsync, where ncruces calls fdatasync")
	flag.Parse()
	temp, err := os.MkdirTemp(*dir, "drivers-")
	if err == nil {
		err = errors.Join(run(temp, *rounds, *duration, !*fsync), os.RemoveAll(temp))
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(dir string, rounds int, duration time.Duration, fdatasync bool) error {
	if _, err := sqlite.Fdatasync(fdatasync); err != nil {
		return err
	}
	ctx := context.Background()
	if err := abilities(ctx, os.Stdout, dir); err != nil || rounds == 0 {
		return err
	}
	fmt.Println()
	suite := measure.Suite{
		Title:    fmt.Sprintf("SQLite drivers, WAL, synchronous=FULL, modernc with fdatasync: %t", fdatasync),
		Callers:  []int{1, 8, 64},
		Rounds:   rounds,
		Duration: duration,
	}
	for _, d := range drivers {
		n, err := naked.Open(d.registered, filepath.Join(dir, d.name+".db"))
		if err != nil {
			return err
		}
		defer n.Close()
		if err := n.Preload(ctx, preloaded); err != nil {
			return err
		}
		suite.Cases = append(suite.Cases, n.Cases(d.name, preloaded)...)
	}
	table, err := suite.Run(ctx)
	if err != nil {
		return err
	}
	if err := table.Markdown(os.Stdout); err != nil {
		return err
	}
	fmt.Println()
	return table.Abreast(os.Stdout, drivers[1].name, drivers[0].name)
}
