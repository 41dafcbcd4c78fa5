//go:build linux

package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Standby copies p and starts the copy as a streaming standby under its own
// name. p does not wait for it before Synchronous says so.
func (p *Postgres) Standby(t testing.TB, name string, settings ...string) *Postgres {
	t.Helper()
	s := newPostgres(t, "", name, settings)
	s.run(t, "pg_basebackup", "-D", s.data, "-X", "stream", "-c", "fast", "-h", "127.0.0.1", "-p", fmt.Sprint(p.Port), "-U", "postgres")
	conf, err := os.OpenFile(filepath.Join(s.data, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conf, "\nprimary_conninfo = 'host=127.0.0.1 port=%d user=postgres application_name=%s'\n", p.Port, name)
	if err == nil {
		err = conf.Close()
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(s.data, "standby.signal"), nil, 0o600)
	}
	if err == nil {
		err = os.Chown(filepath.Join(s.data, "standby.signal"), int(s.as.Uid), int(s.as.Gid))
	}
	if err != nil {
		t.Fatal(err)
	}
	s.start(t)
	return s
}

// Synchronous makes every COMMIT of p wait for the standby of that name.
func (p *Postgres) Synchronous(t testing.TB, name string) {
	t.Helper()
	p.Set(t, "synchronous_standby_names", fmt.Sprintf("FIRST 1 (%s)", name))
	Until(t, name+" is synchronous", func() bool {
		state, err := p.Text(t.Context(), "SELECT sync_state FROM pg_stat_replication WHERE application_name = '"+name+"' AND state = 'streaming'")
		return err == nil && state == "sync"
	}, nil)
}

// Promote makes a standby the primary. It waits for no other standby then.
func (p *Postgres) Promote(t testing.TB) {
	t.Helper()
	p.Set(t, "synchronous_standby_names", "") // the copy has p's
	done, err := p.Text(t.Context(), "SELECT pg_promote(true, 60)")
	if err != nil || done != "t" {
		t.Fatalf("promote %s: %s %v", p.name, done, err)
	}
}
