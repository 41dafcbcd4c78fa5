package postgres

import (
	"crypto/rand"
	"database/sql"
	"net/url"
	"strings"
	"testing"
)

// role is a store that connects as a user of its own.
type role struct {
	*keeper
	name, url string
}

func (k *keeper) role(t testing.TB) role {
	t.Helper()
	name := "keeper_" + strings.ToLower(rand.Text()[:10])
	k.setup(t, `CREATE ROLE `+name+` LOGIN`)
	u, err := url.Parse(keeperURL(t))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(name)
	r := role{keeperOn(t, "pgx", u.String(), k.opts), name, u.String()}
	t.Cleanup(func() {
		r.db.Close()
		k.setupLate(t, `DROP SCHEMA IF EXISTS {schema} CASCADE`)
		k.setupLate(t, `DROP OWNED BY `+name+` CASCADE`)
		k.setupLate(t, `DROP ROLE `+name)
	})
	return r
}

// setupLate is setup for a test's end.
func (k *keeper) setupLate(t testing.TB, query string) {
	t.Helper()
	if _, err := k.db.Exec(k.sql.text(query)); err != nil {
		t.Errorf("%s: %v", query, err)
	}
}

// soundServer is a server as it should be.
var soundServer = settings{version: 150000, connections: 100, reserved: 3, release: "15.20", fsync: "on", pageWrites: "on", commit: "on",
	isolation: "read committed", readOnly: "off", statementTimeout: "0", idleTimeout: "0"}

func TestKeeperDoctorSettings(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(*settings)
		deaf    bool // to notices
		pool    int
		setting string // that fails
		vital   bool
	}{
		"healthy":                {change: func(*settings) {}},
		"an old server":          {change: func(v *settings) { v.version = 129999 }, setting: "server_version", vital: true},
		"fsync":                  {change: func(v *settings) { v.fsync = "off" }, setting: "fsync", vital: true},
		"page writes":            {change: func(v *settings) { v.pageWrites = "off" }, setting: "full_page_writes"},
		"commit off":             {change: func(v *settings) { v.commit = "off" }, setting: "synchronous_commit", vital: true},
		"local alone":            {change: func(v *settings) { v.commit = "local" }},
		"local with standbys":    {change: func(v *settings) { v.commit, v.standbys = "local", "a" }, setting: "synchronous_commit"},
		"write with standbys":    {change: func(v *settings) { v.commit, v.standbys = "remote_write", "a" }, setting: "synchronous_commit"},
		"apply with standbys":    {change: func(v *settings) { v.commit, v.standbys = "remote_apply", "a" }},
		"deaf":                   {deaf: true, change: func(*settings) {}},
		"deaf with standbys":     {deaf: true, change: func(v *settings) { v.standbys = "a" }, setting: "synchronous_standby_names"},
		"another isolation":      {change: func(v *settings) { v.isolation = "serializable" }},
		"read only":              {change: func(v *settings) { v.readOnly = "on" }, setting: "transaction_read_only", vital: true},
		"a standby":              {change: func(v *settings) { v.recovery = true }, setting: "pg_is_in_recovery", vital: true},
		"a hasty statement":      {change: func(v *settings) { v.statementMillis = 999 }, setting: "statement_timeout"},
		"a patient statement":    {change: func(v *settings) { v.statementMillis = 1000 }},
		"a hasty transaction":    {change: func(v *settings) { v.idleMillis = 29_999 }, setting: "idle_in_transaction_session_timeout"},
		"a patient transaction":  {change: func(v *settings) { v.idleMillis = 30_000 }},
		"a pool that fits":       {pool: 97, change: func(*settings) {}},
		"a pool that is too big": {pool: 98, change: func(*settings) {}, setting: "max_connections"},
	} {
		t.Run(name, func(t *testing.T) {
			v := soundServer
			tt.change(&v)
			var failed []string
			for _, c := range v.checks(!tt.deaf, tt.pool) {
				if c.Setting == "" || c.Want == "" || c.Why == "" {
					t.Errorf("%+v tells too little", c)
				}
				if !c.OK {
					failed = append(failed, c.Setting)
					if c.Vital != tt.vital || c.Fix == "" {
						t.Errorf("%+v, want vital %t and a fix", c, tt.vital)
					}
				}
			}
			if got := strings.Join(failed, " "); got != tt.setting {
				t.Errorf("failed: %q, want %q", got, tt.setting)
			}
		})
	}
}

// Doctor reads what holds for the connections of the engine.
func TestKeeperDoctor(t *testing.T) {
	for _, driver := range []string{"pgx", "postgres", "native"} {
		k := newKeeper(t, driver)
		checks, err := k.Doctor(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if !c.OK && c.Setting != "fsync" && c.Setting != "full_page_writes" && c.Setting != "synchronous_commit" {
				t.Errorf("%s: %+v", driver, c)
			}
		}
		k.setup(t, `ALTER TABLE {schema}.record SET UNLOGGED`)
		if c := checkOf(t, k, "tables"); c.OK || !c.Vital || c.Value != "record is not logged" {
			t.Errorf("%+v", c)
		}
	}
	k := emptyKeeper(t, "pgx")
	if c := checkOf(t, k, "schema"); c.OK || c.Value != "0" {
		t.Errorf("%+v", c)
	}
	for parameter, setting := range map[string]string{
		"synchronous_commit=off":                  "synchronous_commit",
		"default_transaction_read_only=on":        "transaction_read_only",
		"statement_timeout=999":                   "statement_timeout",
		"idle_in_transaction_session_timeout=29s": "idle_in_transaction_session_timeout",
	} {
		t.Run(setting, func(t *testing.T) {
			db, err := sql.Open("pgx", keeperURL(t)+"&"+parameter)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			weak := &keeper{db: db, Store: &Store{opts: k.opts, sql: k.sql, read: through{db}}}
			if c := checkOf(t, weak, setting); c.OK {
				t.Errorf("%+v", c)
			}
		})
	}
}

// A table whose rows may be hidden is no proof that there is no record.
func TestKeeperDoctorRowSecurity(t *testing.T) {
	k := newKeeper(t, "pgx")
	engine := k.role(t)
	k.setup(t, Grants(k.opts.Schema, engine.name))
	k.setup(t, `ALTER TABLE {schema}.record ENABLE ROW LEVEL SECURITY`)
	if c := checkOf(t, engine.keeper, "tables"); c.OK || !c.Vital || c.Value != "record has row security" {
		t.Errorf("%+v", c)
	}
}
