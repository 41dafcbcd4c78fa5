package mysql

import (
	"slices"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
)

// found is the check of a setting.
func found(t *testing.T, checks []Check, setting string) Check {
	t.Helper()
	i := slices.IndexFunc(checks, func(c Check) bool { return c.Setting == setting })
	if i < 0 {
		t.Fatalf("no check of %s", setting)
	}
	return checks[i]
}

// healthy are settings without a fault.
func healthy() map[string]string {
	return map[string]string{
		"version": "10.11.19-MariaDB-0+deb12u1", "innodb_flush_log_at_trx_commit": "1", "innodb_flush_method": "O_DIRECT",
		"log_bin": "ON", "sync_binlog": "1", "binlog_format": "ROW", "innodb_doublewrite": "ON", "autocommit": "ON",
		"tx_isolation": "REPEATABLE-READ", "sql_mode": "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION", "read_only": "OFF",
		"completion_type": "NO_CHAIN", "max_allowed_packet": "16777216", "wsrep_on": "OFF", "innodb_rollback_on_timeout": "OFF",
	}
}

func TestJudgements(t *testing.T) {
	for _, c := range judged(healthy()) {
		if !c.OK || c.Why == "" || c.Fix == "" || c.Value == "" {
			t.Errorf("a healthy server fails %+v", c)
		}
	}
	for _, tt := range []struct {
		name, value, setting string
		vital                bool
	}{
		{"version", "10.5.29-MariaDB", "version", true},
		{"version", "5.5.5-10.5.29-MariaDB-log", "version", true},
		{"version", "8.0.18", "version", true},
		{"version", "5.7.44-log", "version", true},
		{"innodb_flush_log_at_trx_commit", "2", "innodb_flush_log_at_trx_commit", true},
		{"innodb_flush_log_at_trx_commit", "0", "innodb_flush_log_at_trx_commit", true},
		{"innodb_flush_method", "nosync", "innodb_flush_method", true},
		{"sync_binlog", "0", "sync_binlog", true},
		{"sync_binlog", "100", "sync_binlog", true},
		{"binlog_format", "STATEMENT", "binlog_format", false},
		{"innodb_doublewrite", "OFF", "innodb_doublewrite", false},
		{"autocommit", "OFF", "autocommit", true},
		{"completion_type", "CHAIN", "completion_type", true},
		{"tx_isolation", "READ-UNCOMMITTED", "transaction_isolation", true},
		{"transaction_isolation", "READ-UNCOMMITTED", "transaction_isolation", true},
		{"sql_mode", "NO_ENGINE_SUBSTITUTION", "sql_mode", false},
		{"read_only", "ON", "read_only", false},
		{"super_read_only", "ON", "read_only", false},
		{"max_allowed_packet", "1048576", "max_allowed_packet", false},
		{"wsrep_on", "ON", "wsrep_on", false},
	} {
		set := healthy()
		set[tt.name] = tt.value
		c := found(t, judged(set), tt.setting)
		if c.OK || c.Vital != tt.vital {
			t.Errorf("%s = %s: %+v", tt.name, tt.value, c)
		}
	}
	for name, value := range map[string]string{
		"version": "8.0.19", "innodb_flush_log_at_trx_commit": "3", "innodb_doublewrite": "DETECT_AND_RECOVER",
		"tx_isolation": "SERIALIZABLE", "innodb_rollback_on_timeout": "ON", "rpl_semi_sync_source_enabled": "ON",
	} {
		set := healthy()
		set[name] = value
		for _, c := range judged(set) {
			if !c.OK {
				t.Errorf("%s = %s fails %+v", name, value, c)
			}
		}
	}
	set := healthy()
	set["log_bin"], set["sync_binlog"], set["binlog_format"] = "OFF", "0", "STATEMENT"
	for _, c := range judged(set) {
		if !c.OK {
			t.Errorf("without a binary log %+v fails", c)
		}
	}
}

func TestDoctor(t *testing.T) {
	cfg := database(t)
	pool := poolOf(t, cfg)
	checks, err := inspect(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	if c := found(t, checks, "schema"); c.OK || c.Value != "0" {
		t.Errorf("an empty database: %+v", c)
	}
	migrateNow(t, pool)
	before := tables(t, pool)
	if checks, err = inspect(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{"schema", "privileges", "engine of the tables", "version", "autocommit"} {
		if c := found(t, checks, setting); !c.OK {
			t.Errorf("%+v", c)
		}
	}
	must(t, pool, `ALTER TABLE refrain_review ENGINE=MyISAM`)
	if checks, err = inspect(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if c := found(t, checks, "engine of the tables"); c.OK || !c.Vital || !strings.Contains(c.Value, "refrain_review MyISAM") {
		t.Errorf("%+v", c)
	}
	must(t, pool, `ALTER TABLE refrain_review ENGINE=InnoDB`)
	if len(before) != len(tables(t, pool)) || len(column(t, pool, `SELECT operation FROM refrain_operation`)) != 0 {
		t.Error("the doctor changed something")
	}

	session := cfg.Clone()
	session.Params = map[string]string{"autocommit": "0", isolation(t, pool): "'READ-UNCOMMITTED'", "sql_mode": "''"}
	if checks, err = inspect(t.Context(), poolOf(t, session)); err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{"autocommit", "transaction_isolation", "sql_mode"} {
		if c := found(t, checks, setting); c.OK {
			t.Errorf("%+v", c)
		}
	}
}

// account makes a user of the server and returns how to reach the database as it.
func account(t *testing.T, cfg *mysqldriver.Config) (string, *mysqldriver.Config) {
	t.Helper()
	admin := poolOf(t, cfg)
	user := "r" + strings.TrimPrefix(cfg.DBName, "refrain_")[:16]
	name := "'" + user + "'@'%'"
	must(t, admin, "CREATE USER "+name+" IDENTIFIED BY 'only for a test'")
	t.Cleanup(func() { must(t, admin, "DROP USER "+name) })
	as := cfg.Clone()
	as.User, as.Passwd = user, "only for a test"
	return name, as
}

func TestDoctorPrivileges(t *testing.T) {
	cfg := database(t)
	admin := poolOf(t, cfg)
	migrateNow(t, admin)
	name, as := account(t, cfg)
	for statement := range strings.SplitSeq(strings.TrimSpace(Privileges(name)), ";\n") {
		must(t, admin, strings.TrimSuffix(statement, ";"))
	}
	checks, err := inspect(t.Context(), poolOf(t, as))
	if err != nil {
		t.Fatal(err)
	}
	if c := found(t, checks, "privileges"); !c.OK {
		t.Errorf("%+v", c)
	}
	must(t, admin, "REVOKE DELETE ON refrain_record FROM "+name, "REVOKE UPDATE ON refrain_operation FROM "+name, "REVOKE INSERT ON refrain_audit FROM "+name)
	if checks, err = inspect(t.Context(), poolOf(t, as)); err != nil {
		t.Fatal(err)
	}
	if c := found(t, checks, "privileges"); c.OK || c.Value != "without UPDATE on refrain_operation, DELETE on refrain_record, INSERT on refrain_audit" {
		t.Errorf("%+v", c)
	}
}
