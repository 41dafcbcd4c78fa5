package mysql

import (
	"strconv"
	"strings"
)

// Oldest servers the engine works on.
const (
	minMariaDB = "10.6"
	minMySQL   = "8.0.19"
)

// judgement is one setting with what it must be. names are its names on either
// server; one that no server has is left out, or takes the value of none.
type judgement struct {
	Check
	names []string
	none  string
	ok    func(value string, set map[string]string) bool // nil: told only
}

// judged are the settings of a server.
func judged(set map[string]string) []Check {
	var checks []Check
	for _, j := range judgements {
		value, found := j.none, j.none != ""
		for _, name := range j.names {
			if v, has := set[name]; has {
				value, found = v, true
				break
			}
		}
		if !found {
			continue
		}
		j.Value, j.OK = value, j.ok == nil || j.ok(value, set)
		checks = append(checks, j.Check)
	}
	return checks
}

var judgements = []judgement{
	{Check: Check{Setting: "version", Want: "MariaDB >= " + minMariaDB + " or MySQL >= " + minMySQL, Vital: true,
		Why: "older servers lack SKIP LOCKED and JSON_TABLE, and their statements of the schema are not atomic",
		Fix: "a newer server"},
		names: []string{"version"}, ok: func(v string, _ map[string]string) bool { return supported(v) }},
	{Check: Check{Setting: "innodb_flush_log_at_trx_commit", Want: "1", Vital: true,
		Why: "with 0 or 2 a crash takes acknowledged effects and their records",
		Fix: "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the configuration"},
		names: []string{"innodb_flush_log_at_trx_commit"}, ok: is("1", "3")}, // 3: MariaDB's, with one more flush
	{Check: Check{Setting: "innodb_flush_method", Want: "one that flushes", Vital: true,
		Why: "with nosync or littlesync a power loss takes acknowledged effects and their records",
		Fix: "remove innodb_flush_method from the configuration"},
		names: []string{"innodb_flush_method"}, ok: isNot("nosync", "littlesync")},
	{Check: Check{Setting: "sync_binlog", Want: "1 where log_bin is on", Vital: true,
		Why: "after a crash a transaction that did not reach the binary log is rolled back, acknowledged or not",
		Fix: "SET GLOBAL sync_binlog = 1, and in the configuration"},
		names: []string{"sync_binlog"}, ok: func(v string, set map[string]string) bool { return v == "1" || !on(set["log_bin"]) }},
	{Check: Check{Setting: "binlog_format", Want: "ROW or MIXED where log_bin is on",
		Why: "with STATEMENT the server refuses every write of a READ COMMITTED transaction",
		Fix: "SET GLOBAL binlog_format = ROW, and in the configuration"},
		names: []string{"binlog_format"}, ok: func(v string, set map[string]string) bool { return v != "STATEMENT" || !on(set["log_bin"]) }},
	{Check: Check{Setting: "innodb_doublewrite", Want: "ON",
		Why: "without it a power loss can leave half a page, and the tables are restored from a backup",
		Fix: "innodb_doublewrite=ON, unless the file system writes whole pages"},
		names: []string{"innodb_doublewrite"}, ok: isNot("OFF", "0", "DETECT_ONLY")},
	{Check: Check{Setting: "autocommit", Want: "ON", Vital: true,
		Why: "without it a lookup stays in an old view of the database",
		Fix: "remove autocommit from the data source name and the server's init_connect"},
		names: []string{"autocommit"}, ok: func(v string, _ map[string]string) bool { return on(v) }},
	{Check: Check{Setting: "completion_type", Want: "NO_CHAIN", Vital: true,
		Why: "otherwise a COMMIT begins the next transaction, or ends the connection, behind the pool's back",
		Fix: "remove completion_type from the data source name and the server's configuration"},
		names: []string{"completion_type"}, ok: is("NO_CHAIN", "0")},
	{Check: Check{Setting: "transaction_isolation", Want: "READ-COMMITTED or higher", Vital: true,
		Why: "READ-UNCOMMITTED shows records that may be rolled back, and they would be replayed",
		Fix: "transaction_isolation=READ-COMMITTED"},
		names: []string{"transaction_isolation", "tx_isolation"}, ok: isNot("READ-UNCOMMITTED")},
	{Check: Check{Setting: "sql_mode", Want: "STRICT_TRANS_TABLES or STRICT_ALL_TABLES",
		Why: "a server that is not strict stores what fits of a value that is too long, the effect's as well",
		Fix: "add STRICT_TRANS_TABLES to sql_mode"},
		names: []string{"sql_mode"}, ok: func(v string, _ map[string]string) bool {
			return strings.Contains(v, "STRICT_TRANS_TABLES") || strings.Contains(v, "STRICT_ALL_TABLES")
		}},
	{Check: Check{Setting: "read_only", Want: "OFF",
		Why: "a replica executes nothing",
		Fix: "name the primary in the data source name"},
		names: []string{"read_only"}, ok: func(v string, set map[string]string) bool {
			return !on(v) && v != "NO_LOCK" && !on(set["super_read_only"])
		}},
	{Check: Check{Setting: "max_allowed_packet", Want: ">= " + strconv.Itoa(minPacket),
		Why: "a result that does not fit into a packet is rolled back; Contract.MaxResponse bounds results",
		Fix: "SET GLOBAL max_allowed_packet = 16777216, and in the configuration"},
		names: []string{"max_allowed_packet"}, ok: func(v string, _ map[string]string) bool {
			bytes, err := strconv.ParseInt(v, 10, 64)
			return err == nil && bytes >= minPacket
		}},
	{Check: Check{Setting: "wsrep_on", Want: "OFF",
		Why: "Galera is best effort: a claim is decided at COMMIT, and coordinated crashes have lost committed transactions",
		Fix: "write through one node only, and set wsrep_sync_wait to 1 or more; or use one primary with semi-synchronous replicas"},
		names: []string{"wsrep_on"}, ok: func(v string, _ map[string]string) bool { return !on(v) }},
	{Check: Check{Setting: "semi-synchronous replication", Want: "any",
		Why: "without it a failover to a replica loses the latest acknowledged effects together with their records",
		Fix: "rpl_semi_sync_master_enabled (MySQL: rpl_semi_sync_source_enabled) with AFTER_SYNC, if there is a replica to fail over to"},
		names: []string{"rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled"}, none: "OFF"},
	{Check: Check{Setting: "innodb_rollback_on_timeout", Want: "any",
		Why: "OFF: a lock that is waited for too long undoes one statement, ON: the whole transaction; either ends the effect",
		Fix: "nothing to do"},
		names: []string{"innodb_rollback_on_timeout"}},
}

// minPacket fits the default MaxResponse as a quoted text, and some.
const minPacket = 4 << 20

func on(v string) bool { return strings.EqualFold(v, "ON") || v == "1" }

func is(values ...string) func(string, map[string]string) bool {
	return func(v string, _ map[string]string) bool {
		for _, value := range values {
			if strings.EqualFold(v, value) {
				return true
			}
		}
		return false
	}
}

func isNot(values ...string) func(string, map[string]string) bool {
	among := is(values...)
	return func(v string, set map[string]string) bool { return !among(v, set) }
}

// supported reports a version the engine works on. MariaDB's has its name in it,
// and may begin with a version made up for old clients.
func supported(version string) bool {
	least := minMySQL
	if strings.Contains(version, "MariaDB") {
		least = minMariaDB
		version = strings.TrimPrefix(version, "5.5.5-")
	}
	version, _, _ = strings.Cut(version, "-")
	has, want := strings.Split(version, "."), strings.Split(least, ".")
	for i, w := range want {
		if i == len(has) {
			return false
		}
		a, errA := strconv.Atoi(has[i])
		b, errB := strconv.Atoi(w)
		if errA != nil || errB != nil {
			return false
		}
		if a != b {
			return a > b
		}
	}
	return true
}
