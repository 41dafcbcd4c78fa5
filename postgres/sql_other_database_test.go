package postgres

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"testing"

	"github.com/refrain-dev/refrain"
)

// elsewhere is a handle to another database of the server, with a migrated schema
// of the same name.
func (s *sqlShop) elsewhere(t *testing.T, driver string) *sql.DB {
	t.Helper()
	at, err := url.Parse(keeperURL(t))
	if err != nil || at.Host == "" {
		unmet(t, "REFRAIN_TEST_POSTGRES is no URL")
	}
	if at.Path == "/postgres" {
		unmet(t, "REFRAIN_TEST_POSTGRES names the database the twin would be in")
	}
	at.Path = "/postgres"
	twin := openSQLShop(t, driver, at.String(), s.opts)
	if err := twin.handle.PingContext(t.Context()); err != nil {
		unmet(t, "no other database to be had: %v", err)
	}
	t.Cleanup(func() {
		if _, err := twin.handle.Exec(s.sql.text(`DROP SCHEMA {schema} CASCADE`)); err != nil {
			t.Error(err)
		}
	})
	if err := twin.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return twin.handle
}

// refuses demands that a transaction on handle is refused, and left as it was.
func (s *sqlShop) refuses(t *testing.T, handle *sql.DB) {
	t.Helper()
	tx, err := handle.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	_, err = s.ExecuteIn(t.Context(), tx, keeperCall("k"), func(context.Context, SQLTx) (refrain.Result, error) {
		t.Error("the effect ran")
		return done, nil
	})
	wantRow(t, err, "9", refrain.ErrUnavailable)
	if !errors.Is(err, ErrOtherDatabase) || errors.Is(err, ErrTxUnusable) {
		t.Errorf("ExecuteIn: %v, want %v", err, ErrOtherDatabase)
	}
	if err := tx.Commit(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	var records int
	if err := handle.QueryRow(s.sql.text(`SELECT count(*) FROM {schema}.record`)).Scan(&records); err != nil || records != 0 {
		t.Errorf("%d records, %v", records, err)
	}
}

// A transaction of another database is refused, also by an engine that has seen
// its own, and also where the other one is a copy.
func TestSQLOtherDatabase(t *testing.T) {
	for _, driver := range sqlDrivers {
		t.Run(driver, func(t *testing.T) {
			s := newSQLShop(t, driver, Options{})
			other := s.elsewhere(t, driver)
			s.refuses(t, other)
			tx := s.beginAt(t, sql.LevelReadCommitted)
			if _, err := s.ExecuteIn(t.Context(), tx, keeperCall("own"), s.put("own")); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			s.refuses(t, other)

			var store string
			if err := s.handle.QueryRow(s.sql.text(`SELECT id::text FROM {schema}.store`)).Scan(&store); err != nil {
				t.Fatal(err)
			}
			if _, err := other.Exec(s.sql.text(`UPDATE {schema}.store SET id = $1::uuid`), store); err != nil {
				t.Fatal(err)
			}
			s.refuses(t, other)
			s.wantItems(t, "own")
		})
	}
}

// A handle of the caller's own is asked about once, and then no more.
func TestSQLOwnDatabaseAskedOnce(t *testing.T) {
	s := newSQLShop(t, "pgx", Options{})
	callers := openSQLShop(t, "pgx", keeperURL(t), s.opts).handle
	for _, item := range []string{"first", "second"} {
		tx, err := callers.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.ExecuteIn(t.Context(), tx, keeperCall(item), s.put(item)); err != nil {
			t.Errorf("%s: %v", item, err)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		_ = s.handle.Close() // nothing can be asked of it any more
	}
	s.wantItems(t, "first", "second")
}

// The caller may hold the handle's only connection.
func TestSQLOwnDatabaseOnOneConnection(t *testing.T) {
	s := newSQLShop(t, "pgx", Options{}, func(url string) *sql.DB {
		pool, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1)
		return pool
	})
	tx := s.beginAt(t, sql.LevelReadCommitted)
	if _, err := s.ExecuteIn(t.Context(), tx, keeperCall("k"), s.put("k")); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	s.wantItems(t, "k")
}

// A system's identifier that one of the two may not read tells nothing.
func TestSamePlace(t *testing.T) {
	here := place{"store", "shop", "1"}
	for other, want := range map[place]bool{
		here:                   true,
		{"store", "shop", ""}:  true,
		{"store", "shop", "2"}: false,
		{"store", "copy", "1"}: false,
		{"other", "shop", "1"}: false,
	} {
		if here.same(other) != want || other.same(here) != want {
			t.Errorf("%v: %t", other, !want)
		}
	}
}
