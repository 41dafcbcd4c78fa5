package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/tour"
)

func (m *Main) tour() *cobra.Command {
	return &cobra.Command{
		Use:   "tour",
		Short: "Run the guarantee's scenarios in a database of their own",
		Long: `tour runs the scenarios of the guarantee on real connections to one SQLite
file, at injected times, and prints what was seen. The file is temporary, or the
one --db names, which must not exist or have no tables, and is kept.`,
		Args: noArguments("the file to keep is --db " + schemes),
		RunE: func(cmd *cobra.Command, _ []string) error { return m.runTour(cmd.Context()) },
	}
}

func (m *Main) runTour(ctx context.Context) (err error) {
	path, err := m.database()
	if err != nil {
		return err
	}
	if path == "" {
		dir, err := os.MkdirTemp("", "refrain-tour-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		path = filepath.Join(dir, "tour.db")
	} else if err := unused(ctx, path); err != nil {
		return err
	}
	report, err := tour.Run(ctx, path)
	if err != nil {
		return err
	}
	if err := m.printTour(report); err != nil {
		return err
	}
	return verdict(report)
}

func verdict(report tour.Report) error {
	if !report.OK() {
		return differs("the lines that are not ok say what was seen", "the guarantee does not hold here")
	}
	return nil
}

// unused refuses a file that already holds something.
func unused(ctx context.Context, path string) (err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	db, err := openExisting(path)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	isEmpty, err := empty(ctx, db)
	if err == nil && !isEmpty {
		err = misused("name a file that does not exist yet", "sqlite:%s has tables; the tour needs an empty database", path)
	}
	return err
}

func (m *Main) printTour(report tour.Report) error {
	if m.json {
		return printJSON(m.Stdout, report)
	}
	for _, line := range report.Lines {
		mark := "ok    "
		if !line.OK {
			mark = "NOT OK"
		}
		fmt.Fprintf(m.Stdout, "%s  %s\n        %s\n", mark, line.Name, oneLine(line.Evidence))
	}
	word := "verified counts"
	if !report.OK() {
		word = "counts"
	}
	_, err := fmt.Fprintf(m.Stdout, "%s: %d effects, %d retained receipts\n", word, report.Effects, report.Receipts)
	return err
}
