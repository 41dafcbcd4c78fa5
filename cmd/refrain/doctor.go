package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/upkeep"
)

func (m *Main) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the settings that decide what the database can promise",
		Long: `doctor opens an existing database as the engine does and reads the settings
that decide durability, on a connection that writes. It never makes a file or a
table, and leaves a SQLite file with a rollback journal as it is.`,
		Args: noArguments(databaseHint),
		RunE: func(cmd *cobra.Command, _ []string) error { return m.runDoctor(cmd.Context()) },
	}
}

func (m *Main) runDoctor(ctx context.Context) (err error) {
	at, err := m.named()
	if err != nil {
		return err
	}
	db, err := m.look(ctx, at)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	checks, err := db.Doctor(ctx)
	if err != nil {
		return err
	}
	status, err := db.MigrationStatus(ctx)
	if err != nil {
		return err
	}
	for i := range checks {
		if checks[i].Setting == "schema" {
			checks[i].Fix = schemaFix(at, status)
		}
	}
	if err := m.printChecks(checks); err != nil {
		return err
	}
	failed := 0
	for _, c := range checks {
		if !c.OK {
			failed++
		}
	}
	if failed > 0 {
		return differs("each check that is not ok says what mends it", "%d of %d checks of %s are not ok", failed, len(checks), at)
	}
	return nil
}

// schemaFix is the command that mends the schema of this very database.
func schemaFix(at engine.Place, status upkeep.Status) string {
	if status.Version > status.Newest {
		return newerHint
	}
	return "refrain migrate --db " + dbWord(at)
}

func (m *Main) printChecks(checks []upkeep.Check) error {
	if m.json {
		return printJSON(m.Stdout, map[string][]upkeep.Check{"checks": checks})
	}
	for _, c := range checks {
		mark := "ok    "
		if !c.OK {
			mark = "NOT OK"
		}
		fmt.Fprintf(m.Stdout, "%s  %s is %s, want %s\n", mark, c.Setting, c.Value, c.Want)
		if !c.OK {
			fmt.Fprintf(m.Stdout, "        why: %s\n        fix: %s\n", c.Why, c.Fix)
		}
	}
	return nil
}
