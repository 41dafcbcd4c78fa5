package postgres

import (
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/record"
)

// Rows are read whole: columns that are added while an engine runs, also to
// statements it has prepared, change nothing of what it reads and writes.
func TestKeeperMoreColumns(t *testing.T) {
	for _, driver := range []string{"pgx", "postgres", "native"} {
		t.Run(driver, func(t *testing.T) {
			k := newKeeper(t, driver)
			k.db.SetMaxOpenConns(1)
			rec := k.mustSettle(t, keeperCall("k"))
			reads := func() {
				t.Helper()
				for range 3 {
					loaded, _, err := k.Load(t.Context(), rec.Identity)
					if err != nil {
						t.Fatal(err)
					}
					same(t, "Load", loaded.Record, rec)
					glanced, _, err := k.glance(t.Context(), rec.Identity)
					if err != nil {
						t.Fatal(err)
					}
					same(t, "glance", glanced.Record, rec)
					found, err := k.Find(t.Context(), rec.Ref)
					if err != nil {
						t.Fatal(err)
					}
					same(t, "Find", found, *rec)
				}
			}
			reads()
			k.setup(t, `ALTER TABLE {schema}.record ADD COLUMN note text NOT NULL DEFAULT 'n', ADD COLUMN more bytea`)
			reads()
			k.mustSettle(t, keeperCall("another"))
			k.setup(t, `ALTER TABLE {schema}.record DROP COLUMN note`)
			reads()
			if recs, err := k.List(t.Context(), record.Record{}, 0); err != nil || len(recs) != 2 {
				t.Errorf("List: %d, %v", len(recs), err)
			}
			if c := checkOf(t, k, "tables"); !c.OK {
				t.Errorf("%+v", c)
			}
		})
	}
}

// Columns in another order would be taken for one another.
func TestKeeperDoctorColumns(t *testing.T) {
	same(t, "their number", strings.Count(columnNames, ",")+1, numColumns)
	k := newKeeper(t, "pgx")
	k.setup(t, `ALTER TABLE {schema}.record RENAME created TO made`)
	k.setup(t, `ALTER TABLE {schema}.record RENAME final TO created`)
	k.setup(t, `ALTER TABLE {schema}.record RENAME made TO final`)
	if c := checkOf(t, k, "tables"); c.OK || !c.Vital || c.Value != "record has other columns, or in another order" {
		t.Errorf("%+v", c)
	}
}
