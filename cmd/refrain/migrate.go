package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/upkeep"
)

func (m *Main) migrate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate [up|status|sql]",
		Short: "Make or update Refrain's tables",
		Long: `migrate brings the database to this binary's schema; up is what it does when
nothing is said. status only looks and leaves the database as it is: exit 0
current, 1 behind, 3 newer or unreachable. sql prints the statements that up runs
on an empty database of the engine that --db names, by default SQLite.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.migrateUp(cmd.Context()) },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "up", Short: "Bring the database to this binary's schema", Args: noArguments(databaseHint),
			RunE: func(cmd *cobra.Command, _ []string) error { return m.migrateUp(cmd.Context()) },
		},
		&cobra.Command{
			Use: "status", Short: "Say how far the database is migrated", Args: noArguments(databaseHint),
			RunE: func(cmd *cobra.Command, _ []string) error { return m.migrateStatus(cmd.Context()) },
		},
		&cobra.Command{
			Use: "sql", Short: "Print the schema's SQL", Args: noArguments(""),
			RunE: func(*cobra.Command, []string) error { return m.migrateSQL() },
		},
	)
	return cmd
}

func (m *Main) migrateUp(ctx context.Context) (err error) {
	at, err := m.named()
	if err != nil {
		return err
	}
	db, err := at.Open(ctx, brief)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	before, err := db.MigrationStatus(ctx)
	if err != nil {
		return err
	}
	if before.Version > before.Newest {
		return newer(at, before)
	}
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	if m.json {
		return printJSON(m.Stdout, struct {
			From int `json:"from"`
			upkeep.Status
		}{before.Version, upkeep.Status{Version: before.Newest, Newest: before.Newest}})
	}
	if before.Version == before.Newest {
		_, err = fmt.Fprintf(m.Stdout, "%s is at version %d already\n", at, before.Version)
		return err
	}
	_, err = fmt.Fprintf(m.Stdout, "migrated %s from version %d to %d\n", at, before.Version, before.Newest)
	return err
}

func (m *Main) migrateStatus(ctx context.Context) (err error) {
	at, err := m.named()
	if err != nil {
		return err
	}
	db, err := m.look(ctx, at)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	status, err := db.MigrationStatus(ctx)
	if err != nil {
		return err
	}
	if m.json {
		err = printJSON(m.Stdout, status)
	} else {
		_, err = fmt.Fprintf(m.Stdout, "version %d, newest %d\n", status.Version, status.Newest)
	}
	switch {
	case err != nil:
		return err
	case status.Version > status.Newest:
		return newer(at, status)
	case status.Version < status.Newest:
		return differs(migrateHint(at), "%s is behind: version %d of %d", at, status.Version, status.Newest)
	}
	return nil
}

func (m *Main) migrateSQL() error {
	at, err := m.database()
	if err != nil {
		return err
	}
	if at == nil {
		at = engine.File("")
	}
	if m.json {
		return printJSON(m.Stdout, map[string]string{"sql": at.Schema()})
	}
	_, err = fmt.Fprint(m.Stdout, at.Schema())
	return err
}
