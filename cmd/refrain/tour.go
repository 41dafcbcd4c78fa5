package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/tour"
)

func (m *Main) tour() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tour",
		Short: "Run the guarantee's scenarios in a database of their own",
		Long: `tour runs the scenarios of the guarantee on real connections to one database,
at injected times, and prints what was seen. The database is a temporary file of
SQLite. With --db sqlite:PATH it is that file, which must not exist or have no
tables, and is kept; on a server it is a schema (PostgreSQL) or a database
(MySQL) with a random name, which is removed at the end.`,
		Args: noArguments(databaseHint),
		RunE: func(cmd *cobra.Command, _ []string) error { return m.runTour(cmd.Context()) },
	}
	cmd.AddCommand(m.tourExternal())
	return cmd
}

func (m *Main) tourExternal() *cobra.Command {
	return &cobra.Command{
		Use:   "external",
		Short: "Run the scenarios of external operations in a database of their own",
		Long: `external runs payments that are charged at providers of this process, which lose
answers as they are told, and prints what was seen: that nothing was charged
twice, and that what nobody can know is left to a person. The providers listen
on 127.0.0.1 while it runs. The database is as of refrain tour.`,
		Args: noArguments(databaseHint),
		RunE: func(cmd *cobra.Command, _ []string) error { return m.runTourExternal(cmd.Context()) },
	}
}

func (m *Main) runTour(ctx context.Context) error {
	report, err := tourAt(ctx, m, tour.Run)
	if err != nil {
		return err
	}
	if err := m.printTour(report); err != nil {
		return err
	}
	return verdict(report)
}

func (m *Main) runTourExternal(ctx context.Context) error {
	report, err := tourAt(ctx, m, tour.RunExternal)
	if err != nil {
		return err
	}
	if err := m.printTourExternal(report); err != nil {
		return err
	}
	return verdict(report)
}

// tourAt takes a tour where --db says, or in a file that goes.
func tourAt[R any](ctx context.Context, m *Main, run func(context.Context, engine.Place) (R, error)) (none R, err error) {
	at, err := m.database()
	if err != nil {
		return none, err
	}
	if at == nil {
		dir, err := os.MkdirTemp("", "refrain-tour-")
		if err != nil {
			return none, err
		}
		defer os.RemoveAll(dir)
		at = engine.File(filepath.Join(dir, "tour.db"))
	}
	return tourIn(ctx, at, run)
}

func verdict(report interface{ OK() bool }) error {
	if !report.OK() {
		return differs("the lines that are not ok say what was seen", "the guarantee does not hold here")
	}
	return nil
}

// removeWithin is how long the tour's place on a server may take to go.
const removeWithin = 30 * time.Second

// tourIn takes the tour in a place of its own, which goes whatever happens.
func tourIn[R any](ctx context.Context, at engine.Place, run func(context.Context, engine.Place) (R, error)) (report R, err error) {
	own, remove, err := at.Own(ctx)
	if err != nil {
		return report, err
	}
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
		defer cancel()
		err = errors.Join(err, remove(bounded))
	}()
	return run(ctx, own)
}

func (m *Main) printTour(report tour.Report) error {
	if m.json {
		return printJSON(m.Stdout, report)
	}
	m.printLines(report.Lines)
	_, err := fmt.Fprintf(m.Stdout, "%s: %d effects, %d retained receipts\n", countsOf(report), report.Effects, report.Receipts)
	return err
}

func (m *Main) printTourExternal(report tour.ExternalReport) error {
	if m.json {
		return printJSON(m.Stdout, report)
	}
	m.printLines(report.Lines)
	_, err := fmt.Fprintf(m.Stdout, "%s: %d charges, %d payments, %d retained receipts\n", countsOf(report), report.Charges, report.Payments, report.Receipts)
	return err
}

func countsOf(report interface{ OK() bool }) string {
	if report.OK() {
		return "verified counts"
	}
	return "counts"
}

func (m *Main) printLines(lines []tour.Line) {
	for _, line := range lines {
		mark := "ok    "
		if !line.OK {
			mark = "NOT OK"
		}
		fmt.Fprintf(m.Stdout, "%s  %s\n        %s\n", mark, line.Name, oneLine(line.Evidence))
	}
}
