package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/refrain-dev/refrain/upkeep"
)

// Check is one setting that decides what the engine can promise.
type Check = upkeep.Check

// Doctor reads the settings that decide what the engine can promise, as a
// connection of the pool has them. It changes nothing.
func (db *DB) Doctor(ctx context.Context) ([]Check, error) {
	checks, err := inspect(ctx, db.pool)
	if err == nil && db.noLock.Load() && !db.opts.NoLock {
		checks = append(checks, Check{Setting: "GET_LOCK", Value: "refused", Want: "granted",
			Why: "without it a duplicate in another process runs its effect, loses at the unique key and is rolled back",
			Fix: "nothing that must be done; Options.NoLock says that it is meant"})
	}
	return checks, err
}

func inspect(ctx context.Context, pool *sql.DB) ([]Check, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("mysql: doctor: %w", err)
	}
	defer func() {
		_, _ = conn.ExecContext(ctx, undoSQL) // where autocommit is off the looks began a transaction
		_ = conn.Close()
	}()
	set, err := settings(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("mysql: doctor: %w", err)
	}
	checks := judged(set)
	status, err := migrationStatus(ctx, conn)
	if err != nil {
		return nil, err
	}
	schema := Check{Setting: "schema", Value: fmt.Sprint(status.Version), Want: fmt.Sprint(status.Newest), OK: status.Check() == nil,
		Why: "the tables must be the ones this binary knows", Fix: "refrain migrate, or DB.Migrate; a newer schema needs the newer binary"}
	if status.Version == 0 {
		return append(checks, schema), nil
	}
	engines, err := checkEngines(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("mysql: doctor: %w", err)
	}
	granted, err := checkPrivileges(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("mysql: doctor: %w", err)
	}
	return append(checks, engines, granted, schema), nil
}

// settings are the session's variables by name.
func settings(ctx context.Context, q runner) (map[string]string, error) {
	rows, err := q.QueryContext(ctx, `SHOW SESSION VARIABLES`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	set := make(map[string]string)
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		set[name] = value
	}
	return set, rows.Err()
}

// checkEngines reads what our tables are kept by: an import or a server without
// InnoDB may have made them otherwise.
func checkEngines(ctx context.Context, q runner) (Check, error) {
	c := Check{Setting: "engine of the tables", Want: "InnoDB", Vital: true,
		Why: "no other engine takes part in the effect's transaction",
		Fix: "ALTER TABLE … ENGINE=InnoDB for each of them"}
	var tables []any
	for _, p := range privileges {
		tables = append(tables, p.table)
	}
	rows, err := q.QueryContext(ctx, `SELECT table_name, coalesce(engine, 'none') FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_name IN (?`+strings.Repeat(`, ?`, len(tables)-1)+`)`+every, tables...)
	if err != nil {
		return c, err
	}
	defer rows.Close()
	var others []string
	for rows.Next() {
		var table, engine string
		if err := rows.Scan(&table, &engine); err != nil {
			return c, err
		}
		if !strings.EqualFold(engine, "InnoDB") {
			others = append(others, table+" "+engine)
		}
	}
	c.Value, c.OK = "InnoDB", len(others) == 0
	if !c.OK {
		c.Value = strings.Join(others, ", ")
	}
	return c, rows.Err()
}

// checkPrivileges asks the server to explain a statement of each kind: that
// needs the privileges of the statement, whichever role they come by, and does
// nothing.
func checkPrivileges(ctx context.Context, q runner) (Check, error) {
	c := Check{Setting: "privileges", Value: "all", Want: "all", OK: true,
		Why: "a call that lacks one fails, a rekey or a reaper possibly months later",
		Fix: "the statements of mysql.Privileges, run by an administrator"}
	var missing []string
	for _, p := range privileges {
		for _, verb := range p.verbs {
			rows, err := q.QueryContext(ctx, strings.NewReplacer("{table}", p.table, "{column}", p.column).Replace(explain[verb]))
			switch number(err) {
			case errTableDenied, errColumnDenied:
				missing = append(missing, verb+" on "+p.table)
				continue
			case errReadOnly, errReadOnlyMode, errNoTable: // said by another check
				continue
			}
			if err != nil {
				return c, err
			}
			if err := rows.Close(); err != nil {
				return c, err
			}
		}
	}
	if len(missing) > 0 {
		c.OK, c.Value = false, "without "+strings.Join(missing, ", ")
	}
	return c, nil
}

var explain = map[string]string{
	"SELECT": `EXPLAIN SELECT * FROM {table} WHERE FALSE`,
	"INSERT": `EXPLAIN INSERT INTO {table} SELECT * FROM {table} WHERE FALSE`,
	"UPDATE": `EXPLAIN UPDATE {table} SET {column} = {column} WHERE FALSE`,
	"DELETE": `EXPLAIN DELETE FROM {table} WHERE FALSE`,
}

const (
	errTableDenied  = 1142
	errColumnDenied = 1143
	errReadOnly     = 1290
	errReadOnlyMode = 1836
)

// sound refuses a server that cannot keep what the engine promises.
func sound(ctx context.Context, pool *sql.DB) error {
	checks, err := inspect(ctx, pool)
	if err != nil {
		return err
	}
	for _, c := range checks {
		if !c.OK && c.Vital {
			return fmt.Errorf("mysql: %s is %s, want %s: %s", c.Setting, c.Value, c.Want, c.Fix)
		}
	}
	return nil
}
