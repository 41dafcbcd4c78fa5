package mysql

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain"
)

// escaping is New on a handle whose driver puts arguments into texts.
func escaping(t testing.TB, cfg *driverlib.Config, o Options) *DB {
	cfg = cfg.Clone()
	cfg.InterpolateParams = true
	db := onForeign(t, cfg, o)
	db.pool.SetMaxOpenConns(1)
	return db
}

// A routine's SET sql_mode ends with the routine, but the protocol goes on to
// report it. No key leaves its literal by that, on any connection, and no
// argument of an effect on one of ours.
func TestEscapeFlagLeft(t *testing.T) {
	s := newShop(t)
	must(t, s.raw, `CREATE PROCEDURE sets() SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'`, `CREATE PROCEDURE clears() SET SESSION sql_mode = ''`)
	for _, mode := range []string{"'STRICT_TRANS_TABLES'", "'STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES'"} {
		cfg := s.cfg.Clone()
		cfg.Params = map[string]string{"sql_mode": mode}
		for _, routine := range []string{"sets", "clears"} {
			for name, open := range map[string]func(testing.TB, *driverlib.Config, Options) *DB{"Open": opened, "New": escaping} {
				db := open(t, cfg, Options{Connections: 1})
				for _, evil := range []string{`\' OR 1 -- `, `' OR 1 -- `, `\`, "\xbf' OR 1 -- ", "\n\x00\x1a\""} {
					key := "k" + name + mode + routine + evil
					call := order(key)
					call.Scope = refrain.Tenant(evil)
					_, err := db.Execute(t.Context(), call, func(ctx context.Context, tx Tx) (refrain.Result, error) {
						if _, err := tx.ExecContext(ctx, "CALL "+routine+"()"); err != nil || name == "New" {
							return refrain.Result{Body: []byte(evil)}, err
						}
						var same string
						err := tx.QueryRowContext(ctx, `SELECT HEX(?)`, evil).Scan(&same)
						if want := strings.ToUpper(hex.EncodeToString([]byte(evil))); same != want {
							t.Errorf("%s, %s: an argument %q arrived as %s, %v", mode, routine, evil, same, err)
						}
						return refrain.Result{Body: []byte(evil)}, err
					})
					if err != nil {
						t.Errorf("%s, %s, %s: %q: %v", name, mode, routine, evil, err)
					}
					out, err := db.Execute(t.Context(), call, buys("again"))
					if err != nil || !out.Replayed || string(out.Body) != evil {
						t.Errorf("%s, %s, %s: %q replayed as %q, %v", name, mode, routine, evil, out.Body, err)
					}
				}
			}
		}
	}
}

// A text that has a backslash may look to the driver as if a mark in a literal
// were a placeholder, and what stands in its place would be SQL.
func TestMarkInLiteral(t *testing.T) {
	s := newShop(t)
	must(t, s.raw, `CREATE PROCEDURE sets() SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'`)
	db := opened(t, s.cfg, Options{Connections: 1})
	err := run(db, "k", func(ctx context.Context, tx Tx) (refrain.Result, error) {
		if _, err := tx.ExecContext(ctx, "CALL sets()"); err != nil {
			return made, err
		}
		var whole, arg string
		err := tx.QueryRowContext(ctx, `SELECT 'a\' ?, ', ?`, "b").Scan(&whole, &arg)
		if whole != "a' ?, " || arg != "b" {
			t.Errorf("%q, %q, %v", whole, arg, err)
		}
		return made, err
	})
	if err != nil {
		t.Error(err)
	}
}

// A session whose characters may end in a backslash, which no DSN shows.
func TestUnsafeCharset(t *testing.T) {
	s := newShop(t)
	for _, charset := range []string{"gbk", "sjis", "big5"} {
		cfg := s.cfg.Clone()
		cfg.Params = map[string]string{"character_set_client": charset}
		for name, open := range map[string]func(testing.TB, *driverlib.Config, Options) *DB{"Open": opened, "New": escaping} {
			db := open(t, cfg, Options{Connections: 1})
			key := name + charset + "\xbf' OR 1 -- \xbf\\"
			for range 2 {
				if err := run(db, key, buys("one of "+charset+name)); err != nil {
					t.Errorf("%s: %s: %v", name, charset, err)
				}
			}
		}
	}
	s.wants(t, "one of big5New", "one of big5Open", "one of gbkNew", "one of gbkOpen", "one of sjisNew", "one of sjisOpen")
}

// A mode that reads an empty literal as NULL hides no fence.
func TestEmptyStringIsNull(t *testing.T) {
	s := newShop(t)
	if !mariaDB(t, s.raw) {
		t.Skip("MariaDB's alone")
	}
	cfg := s.cfg.Clone()
	cfg.Params = map[string]string{"sql_mode": "'STRICT_TRANS_TABLES,EMPTY_STRING_IS_NULL'"}
	db := opened(t, cfg, Options{})
	mustBuy(t, db, order("known"))
	must(t, s.raw, "INSERT INTO refrain_fence (operation, scope, until, reason, `by`, at) VALUES ('', '', 1, '', '', 0)")
	wantRow(t, run(db, "k", buys("k")), "2", refrain.ErrTooLate)
	s.wants(t, "known")
}

// What has nothing to escape is sent at once; what has is not.
func TestPlain(t *testing.T) {
	named := func(v any) []driver.NamedValue { return []driver.NamedValue{{Ordinal: 1, Value: v}} }
	for _, v := range []any{nil, int64(-1), uint64(1), 1.5, true, time.Time{}, "", "abc %_-"} {
		if !plain(`?`, named(v)) {
			t.Errorf("%v is prepared", v)
		}
	}
	for _, v := range []any{"'", `"`, `\`, "\x00", "\n", "é", "\xbf", []byte("a"), json.RawMessage("1"), struct{}{}} {
		if plain(`?`, named(v)) {
			t.Errorf("%v is put into the text", v)
		}
	}
	if plain(`'\' ?`, named("a")) {
		t.Error(`a text with a backslash`)
	}
}

func TestInline(t *testing.T) {
	got, err := inline("'?' `?` ?,?,?,?,?", []any{[]byte("'?"), "é", int64(-7), nil, true})
	if want := "'?' `?` _binary X'273f',CONVERT(X'c3a9' USING utf8mb4),-7,NULL,1"; got != want || err != nil {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	for _, bad := range []struct {
		query string
		args  []any
	}{{"?", nil}, {"", []any{1}}, {"'", nil}, {"?", []any{1.5}}} {
		if text, err := inline(bad.query, bad.args); err == nil {
			t.Errorf("%q with %v: %q", bad.query, bad.args, text)
		}
	}
}
