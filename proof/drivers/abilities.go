package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// An effect may read and write rows, nothing else.
func forbidden(action int32) bool {
	switch sqlite3.AuthorizerActionCode(action) {
	case sqlite3.AUTH_READ, sqlite3.AUTH_SELECT, sqlite3.AUTH_INSERT, sqlite3.AUTH_UPDATE,
		sqlite3.AUTH_DELETE, sqlite3.AUTH_FUNCTION, sqlite3.AUTH_RECURSIVE:
		return false
	}
	return true
}

// statements an effect might smuggle in, and what must become of them.
var statements = []string{
	"BEGIN", "COMMIT", "END", "/* a comment */ COMMIT", "-- a comment\nEND TRANSACTION", "SELECT 1; COMMIT",
	"EXPLAIN COMMIT", "ROLLBACK", "SAVEPOINT mine", "RELEASE member", "ROLLBACK TO member",
	"CREATE TABLE u (v)", "CREATE TEMP TABLE u (v)", "CREATE INDEX i ON t (v)", "DROP TABLE t", "ALTER TABLE t ADD COLUMN w",
	"CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT RAISE(ROLLBACK, 'x'); END", "REINDEX", "ANALYZE", "VACUUM",
	"ATTACH ':memory:' AS other", "DETACH main", "PRAGMA foreign_keys = off", "PRAGMA user_version",
	"INSERT INTO t (v) VALUES (2)", "UPDATE t SET v = 3 WHERE v = 2", "DELETE FROM t WHERE v = 3", "SELECT max(v) FROM t",
	"SELECT name FROM pragma_table_info('t')", "INSERT OR ROLLBACK INTO t (v) VALUES (1)",
}

// abilities writes a table of one column per driver.
func abilities(ctx context.Context, w io.Writer, dir string) error {
	var columns [len(drivers)][][2]string
	for i, d := range drivers {
		found, err := d.abilities(ctx, filepath.Join(dir, d.name+"-abilities.db"))
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		columns[i] = found
	}
	fmt.Fprintf(w, "| ability | %s | %s |\n|--|--|--|\n", drivers[0].name, drivers[1].name)
	for i, cell := range columns[0] {
		if _, err := fmt.Fprintf(w, "| %s | %s | %s |\n", cell[0], cell[1], columns[1][i][1]); err != nil {
			return err
		}
	}
	return nil
}

func (c contender) abilities(ctx context.Context, path string) (found [][2]string, err error) {
	db, err := sql.Open(c.registered, "file:"+path+"?_pragma=journal_mode(wal)&_pragma=foreign_keys(1)")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	p := probe{contender: c, ctx: ctx, conn: conn}
	p.version()
	p.deferred()
	p.interrupt("SELECT", "SELECT count(*) FROM ("+endless+")")
	p.interrupt("INSERT", "INSERT INTO t (v) "+endless)
	p.authorizer()
	return p.found, p.err
}

const endless = "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i+1 FROM n) SELECT i FROM n LIMIT 1000000000"

// probe collects what one connection can do; err is a failure to find out.
type probe struct {
	contender
	ctx   context.Context
	conn  *sql.Conn
	found [][2]string
	err   error
}

func (p *probe) note(ability, value string) { p.found = append(p.found, [2]string{ability, value}) }

func (p *probe) must(queries ...string) {
	for _, q := range queries {
		if _, err := p.conn.ExecContext(p.ctx, q); err != nil {
			p.err = errors.Join(p.err, fmt.Errorf("%s: %w", q, err))
		}
	}
}

func (p *probe) raw(look func(raw any) error) {
	p.err = errors.Join(p.err, p.conn.Raw(look))
}

func (p *probe) version() {
	var v string
	p.err = errors.Join(p.err, p.conn.QueryRowContext(p.ctx, "SELECT sqlite_version()").Scan(&v))
	p.note("SQLite version", v)
}

func (p *probe) deferred() {
	see := func() (open bool) {
		p.raw(func(raw any) (err error) { open, err = p.deferredFKs(raw); return err })
		return open
	}
	p.must("CREATE TABLE t (v INTEGER PRIMARY KEY)",
		"CREATE INDEX t_v ON t (v)",
		"CREATE TABLE child (v REFERENCES t DEFERRABLE INITIALLY DEFERRED)",
		"BEGIN IMMEDIATE", "SAVEPOINT member", "INSERT INTO child VALUES (77)", "RELEASE member")
	broken := see()
	p.must("INSERT INTO t VALUES (77)")
	p.note("`DBSTATUS_DEFERRED_FKS` after RELEASE of a violation, then mended", fmt.Sprintf("%t, %t", broken, see()))
	p.must("ROLLBACK", "INSERT INTO t VALUES (1)")
}

// interrupt cancels a statement inside a transaction that has written.
func (p *probe) interrupt(verb, endless string) {
	p.must("BEGIN IMMEDIATE", "INSERT INTO t VALUES (900)")
	short, cancel := context.WithTimeout(p.ctx, 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	var err error
	if verb == "SELECT" {
		var n int
		err = p.conn.QueryRowContext(short, endless).Scan(&n)
	} else {
		_, err = p.conn.ExecContext(short, endless)
	}
	took := time.Since(start).Round(10 * time.Millisecond)
	state := "not exposed"
	p.raw(func(raw any) error {
		if value, known := p.autocommit(raw); known {
			state = fmt.Sprint(value)
		}
		return nil
	})
	_, gone := p.conn.ExecContext(p.ctx, "ROLLBACK")
	p.note("endless "+verb+" with 50 ms of context, in a transaction",
		fmt.Sprintf("%v after %s; is the context's error: %t; transaction gone: %t; autocommit flag: %s",
			err, took, errors.Is(err, context.DeadlineExceeded), gone != nil, state))
}

// authorizer tries each statement while forbidden actions are denied.
func (p *probe) authorizer() {
	commit, err := p.conn.PrepareContext(p.ctx, "COMMIT")
	p.err = errors.Join(p.err, err)
	if p.err != nil {
		return
	}
	defer commit.Close()
	p.must("BEGIN IMMEDIATE", "SAVEPOINT member")
	deny := true
	p.raw(func(raw any) error {
		return p.authorize(raw, func(action int32) bool { return deny && forbidden(action) })
	})
	for _, q := range statements {
		_, err := p.conn.ExecContext(p.ctx, q)
		p.note("effect runs `"+strings.ReplaceAll(q, "\n", "⏎")+"`", verdict(err))
	}
	_, err = commit.ExecContext(p.ctx)
	p.note("COMMIT prepared before the authorizer was set", verdict(err))
	deny = false
	_, gone := p.conn.ExecContext(p.ctx, "ROLLBACK")
	p.note("transaction gone after that `OR ROLLBACK`", fmt.Sprint(gone != nil))
	leaders, err := p.conn.PrepareContext(p.ctx, "COMMIT")
	if err != nil {
		p.err = errors.Join(p.err, err)
		return
	}
	defer leaders.Close()
	p.must("BEGIN IMMEDIATE")
	deny = true
	_, err = leaders.ExecContext(p.ctx)
	p.note("COMMIT prepared while allowed, run while denied, same authorizer", verdict(err))
}

func verdict(err error) string {
	switch {
	case err == nil:
		return "runs"
	case strings.Contains(err.Error(), "not authorized"), strings.Contains(err.Error(), "authorization denied"):
		return "denied"
	default:
		return "fails: " + strings.ReplaceAll(err.Error(), "|", "\\|")
	}
}
