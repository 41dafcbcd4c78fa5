package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/refrain-dev/refrain/upkeep"
)

// settings is one reading of what decides durability, on one connection.
type settings struct {
	version, connections, reserved                          int64
	release, fsync, pageWrites, commit, standbys, isolation string
	readOnly, statementTimeout, idleTimeout                 string
	recovery                                                bool
	statementMillis, idleMillis                             int64
}

// settingsText asks pg_settings only for what has a unit: its numbers are
// milliseconds whatever unit they were written in.
const settingsText = `SELECT current_setting('server_version_num')::int8, current_setting('max_connections')::int8,
 current_setting('superuser_reserved_connections')::int8, current_setting('server_version'),
 current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
 current_setting('synchronous_standby_names'), current_setting('default_transaction_isolation'),
 current_setting('transaction_read_only'), current_setting('statement_timeout'),
 current_setting('idle_in_transaction_session_timeout'), pg_is_in_recovery(),
 (SELECT setting::int8 FROM pg_settings WHERE name = 'statement_timeout'),
 (SELECT setting::int8 FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout')`

// Doctor reads the settings that decide what the engine can promise, as they are
// for a connection of its pool. It changes nothing.
func (s *Store) Doctor(ctx context.Context) ([]upkeep.Check, error) {
	var v settings
	err := s.read.row(ctx, settingsText).Scan(&v.version, &v.connections, &v.reserved, &v.release, &v.fsync, &v.pageWrites,
		&v.commit, &v.standbys, &v.isolation, &v.readOnly, &v.statementTimeout, &v.idleTimeout, &v.recovery,
		&v.statementMillis, &v.idleMillis)
	if err != nil {
		return nil, err
	}
	checks := v.checks(s.notices, s.pool)
	status, err := s.applied(ctx, s.read)
	if sqlState(err) == "42501" {
		return append(checks, privileges(err.Error(), false)), nil
	}
	if err != nil && !errors.Is(err, errChecksum) {
		return nil, err
	}
	value := fmt.Sprint(status.Version)
	if err != nil {
		value += ", changed since"
	}
	checks = append(checks, upkeep.Check{Setting: "schema", Value: value, Want: fmt.Sprint(status.Newest),
		OK: err == nil && status.Check() == nil, Why: "the tables must be the ones this binary knows",
		Fix: "refrain migrate, or Migrate; a newer schema needs the newer binary"})
	if status.Version == 0 {
		return checks, nil
	}
	tables, err := s.tables(ctx)
	return append(checks, tables...), err
}

// longEffect is how long a session of ours may have to be idle inside a
// transaction: the default of MaxExecution.
const longEffect = 30_000 // milliseconds

func (v settings) checks(notices bool, pool int) []upkeep.Check {
	weak := v.commit == "off" || v.standbys != "" && (v.commit == "local" || v.commit == "remote_write")
	checks := []upkeep.Check{
		{Setting: "server_version", Value: v.release, Want: ">= 13; tested on 15", OK: v.version >= 130000, Vital: true,
			Why: "older servers have no 64-bit transaction ids to read", Fix: "use a newer server"},
		{Setting: "fsync", Value: v.fsync, Want: "on", OK: v.fsync == "on", Vital: true,
			Why: "without it a power loss takes acknowledged effects and their records, or the whole database", Fix: "fsync = on"},
		{Setting: "full_page_writes", Value: v.pageWrites, Want: "on", OK: v.pageWrites == "on",
			Why: "a power loss can tear a page; off is safe only on a file system that writes pages whole", Fix: "full_page_writes = on"},
		{Setting: "synchronous_commit", Value: v.commit, Want: "on or remote_apply; local or remote_write only without synchronous standbys",
			OK: !weak, Vital: v.commit == "off",
			Why: "off loses acknowledged effects in a crash, a level below on loses them when a standby takes over",
			Fix: "synchronous_commit = on, also for the role and the database"},
		{Setting: "synchronous_standby_names", Value: cmp.Or(v.standbys, "none"), Want: "the standbys that may take over; the notices of COMMIT heard",
			OK:  v.standbys == "" || notices,
			Why: "without a synchronous standby a failover can lose acknowledged effects and their records; a cancelled wait is told by a notice alone",
			Fix: "name synchronous standbys; open the pool with Open, Configure or ConfigureSQL, which hear the notice"},
		{Setting: "default_transaction_isolation", Value: v.isolation, Want: "any", OK: true,
			Why: "the engine asks for its own level", Fix: "Options.Isolation, if effects need more than read committed"},
		{Setting: "transaction_read_only", Value: v.readOnly, Want: "off", OK: v.readOnly == "off", Vital: true,
			Why: "the engine must be able to write", Fix: "connect to the primary; default_transaction_read_only = off"},
		{Setting: "pg_is_in_recovery", Value: strconv.FormatBool(v.recovery), Want: "false", OK: !v.recovery, Vital: true,
			Why: "a standby accepts no record", Fix: "connect to the primary: target_session_attrs=read-write"},
		{Setting: "statement_timeout", Value: v.statementTimeout, Want: "0, or at least 1s", OK: v.statementMillis == 0 || v.statementMillis >= 1000,
			Why: "it ends an effect's statements and the engine's lookups", Fix: "a longer statement_timeout"},
		{Setting: "idle_in_transaction_session_timeout", Value: v.idleTimeout, Want: "0, or at least MaxExecution (30s)",
			OK:  v.idleMillis == 0 || v.idleMillis >= longEffect,
			Why: "it cuts an effect off that computes for longer between two statements", Fix: "a longer timeout, or a shorter MaxExecution"},
	}
	if pool > 0 {
		most := v.connections - v.reserved
		checks = append(checks, upkeep.Check{Setting: "max_connections", Value: fmt.Sprint(v.connections),
			Want: fmt.Sprintf("at least %d, the pool's and the reserved ones", int64(pool)+v.reserved), OK: int64(pool) <= most,
			Why: "a pool the server cannot fill is row 9 under load", Fix: "a smaller pool, or more max_connections; all processes share them"})
	}
	return checks
}
