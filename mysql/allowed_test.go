package mysql

import (
	"context"
	"errors"
	"testing"

	"github.com/refrain-dev/refrain"
)

var refused = []string{
	"COMMIT", "commit work", "/* why */ COMMIT", "-- why\nROLLBACK", "# why\nROLLBACK", "/*!50000 COMMIT */", "/*M!100000 COMMIT */", "/*!999999 SELECT 1, */ COMMIT",
	"BEGIN", "START TRANSACTION", "SAVEPOINT a", "ROLLBACK TO SAVEPOINT a", "RELEASE SAVEPOINT a", "XA START 'a'",
	"CREATE TABLE other (id INT)", "CREATE TEMPORARY TABLE other (id INT)", "ALTER TABLE effects ADD c INT", "DROP TABLE effects", "TRUNCATE effects",
	"ANALYZE TABLE effects", "SET autocommit = 1", "SET @a = 1, autocommit = 1", "SET @@unique_checks = 0", "SET SESSION unique_checks = 0", "SET NAMES gbk",
	"SET STATEMENT unique_checks = 0 FOR SELECT 1", "LOCK TABLES effects WRITE", "UNLOCK TABLES", "SELECT GET_LOCK('a', 0)", "SELECT release_lock ('a')",
	"DO RELEASE_ALL_LOCKS()", "USE mysql", "PREPARE s FROM 'COMMIT'", "EXECUTE IMMEDIATE 'COMMIT'", "DELETE FROM refrain_record",
	"UPDATE `refrain_record` SET status = 1", "INSERT INTO effects SELECT hash FROM refrain_record", "KILL 1", "BEGIN NOT ATOMIC COMMIT; END",
}

// An effect ends neither its transaction nor its session's settings, and to try
// costs it the transaction.
func TestEffectMayNot(t *testing.T) {
	s := newShop(t)
	for name, open := range kinds {
		db := open(t, s.cfg, Options{})
		for _, text := range refused {
			err := run(db, "k", func(ctx context.Context, tx Tx) (refrain.Result, error) {
				if _, err := tx.ExecContext(ctx, `INSERT INTO effects (id) VALUES ('half')`); err != nil {
					return made, err
				}
				if _, err := tx.ExecContext(ctx, text); !errors.Is(err, refrain.ErrOwned) {
					t.Errorf("%s: %s: %v, want ErrOwned", name, text, err)
				}
				return made, nil // swallowed
			})
			if !errors.Is(err, refrain.ErrOwned) {
				t.Errorf("%s: after %s: %v", name, text, err)
			}
		}
		s.wants(t)
		s.receipts(t, 0)
		usable(t, db)
		must(t, s.raw, `DELETE FROM refrain_record`)
	}
}

func TestEffectMay(t *testing.T) {
	s := newShop(t)
	must(t, s.raw, `CREATE TABLE own (refrain_ref VARBINARY(40), n INT)`)
	values := "VALUES ROW(1)"
	if mariaDB(t, s.raw) {
		values = "VALUES (1)"
	}
	for name, open := range kinds {
		db := open(t, s.cfg, Options{})
		err := run(db, name, func(ctx context.Context, tx Tx) (refrain.Result, error) {
			for _, text := range []string{
				"SELECT 1", "(SELECT 1)", "WITH a AS (SELECT 1) SELECT * FROM a", values, "SET @a = 1, @b = concat(1, 2)", "DO 1",
				"INSERT INTO own (refrain_ref, n) VALUES ('commit', 1)", "REPLACE INTO own VALUES ('get_lock(', 2)", "UPDATE own SET n = 3",
				"DELETE FROM own WHERE n = 3", "SELECT /*!40001 SQL_NO_CACHE */ 1", "SELECT count(*) FROM refrain_record", "EXPLAIN SELECT 1", "SELECT 1 -- ; COMMIT", "SELECT ';'", "SELECT 1;",
			} {
				if _, err := tx.ExecContext(ctx, text); err != nil {
					t.Errorf("%s: %s: %v", name, text, err)
				}
			}
			return made, nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The connection allows several statements at once, which the engine needs; an
// effect's text is one statement, whatever hides in it.
func TestSeveralStatements(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	for _, text := range []string{
		"INSERT INTO effects (id) VALUES ('a'); INSERT INTO effects (id) VALUES ('b')",
		"INSERT INTO effects (id) VALUES ('a'); COMMIT",
		"SELECT '\\'; COMMIT; -- '",
		"INSERT INTO effects (id) VALUES ('a') /*! ; COMMIT */",
	} {
		for _, args := range [][]any{nil, {"x"}} {
			query := text
			if args != nil {
				query = "INSERT INTO effects (id) VALUES (?); COMMIT"
			}
			_ = run(db, "k", func(ctx context.Context, tx Tx) (refrain.Result, error) {
				_, _ = tx.ExecContext(ctx, query, args...)
				rows, err := tx.QueryContext(ctx, query, args...)
				if err == nil {
					_ = rows.Close()
				}
				return made, errors.New("no")
			})
		}
		s.wants(t)
		s.receipts(t, 0)
	}
	usable(t, db)
}

func FuzzWords(f *testing.F) {
	for _, text := range refused {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, query string) {
		all, _ := words(query)
		for _, w := range all {
			if w.text == "" && !w.quoted {
				t.Errorf("an empty word in %q", query)
			}
		}
		_ = allowed(query, true)
	})
}
