package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/sqlite"
)

func (m *Main) migrate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate [up|status|sql]",
		Short: "Make or update Refrain's tables",
		Long: `migrate brings the database to this binary's schema; up is what it does when
nothing is said. status only looks and leaves the file's journal as it is: exit
0 current, 1 behind, 3 newer or unreachable. sql prints the statements that up runs on an empty database.`,
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
	path, err := m.named()
	if err != nil {
		return err
	}
	db, err := open(path, sqlite.Options{Readers: 1})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	before, err := db.MigrationStatus(ctx)
	if err != nil {
		return err
	}
	if before.Version > before.Newest {
		return newer(path, before)
	}
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	if m.json {
		return printJSON(m.Stdout, struct {
			From int `json:"from"`
			sqlite.Status
		}{before.Version, sqlite.Status{Version: before.Newest, Newest: before.Newest}})
	}
	if before.Version == before.Newest {
		_, err = fmt.Fprintf(m.Stdout, "sqlite:%s is at version %d already\n", path, before.Version)
		return err
	}
	_, err = fmt.Fprintf(m.Stdout, "migrated sqlite:%s from version %d to %d\n", path, before.Version, before.Newest)
	return err
}

func (m *Main) migrateStatus(ctx context.Context) (err error) {
	path, err := m.named()
	if err != nil {
		return err
	}
	db, err := m.look(path)
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
		return newer(path, status)
	case status.Version < status.Newest:
		return differs("run: refrain migrate --db sqlite:"+path, "sqlite:%s is behind: version %d of %d", path, status.Version, status.Newest)
	}
	return nil
}

func (m *Main) migrateSQL() error {
	if m.json {
		return printJSON(m.Stdout, map[string]string{"sql": sqlite.Schema()})
	}
	_, err := fmt.Fprint(m.Stdout, sqlite.Schema())
	return err
}
