package mysql

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain"
)

type effect = func(context.Context, Tx) (refrain.Result, error)

var made = refrain.Result{Body: []byte(`"made"`)}

// kinds are the two ways to the database.
var kinds = map[string]func(testing.TB, *driverlib.Config, Options) *DB{"Open": opened, "New": onForeign}

// run executes and tells what the test can compare.
func run(db *DB, key string, fn effect) error {
	_, err := db.Execute(context.Background(), order(key), fn)
	return err
}

// wants checks the committed effects.
func (s shop) wants(t testing.TB, ids ...string) {
	t.Helper()
	slices.Sort(ids)
	got := column(t, s.raw, `SELECT id FROM effects ORDER BY id`)
	if len(got) != len(ids) || !slices.Equal(got, ids) {
		t.Errorf("effects %q, want %q", got, ids)
	}
}

// receipts checks the number of records.
func (s shop) receipts(t testing.TB, want int) {
	t.Helper()
	if got := column(t, s.raw, `SELECT count(*) FROM refrain_record`)[0]; got != strconv.Itoa(want) {
		t.Errorf("%s records, want %d", got, want)
	}
}

// usable checks that the engine executes and answers as before.
func usable(t testing.TB, db *DB) {
	t.Helper()
	for range 2 {
		if err := run(db, "usable", func(context.Context, Tx) (refrain.Result, error) { return made, nil }); err != nil {
			t.Errorf("the engine is not usable afterwards: %v", err)
		}
	}
}

// numbers is a table n of the first numbers, from 0; count is below 10,000. MySQL
// has no tables of a sequence, and a recursion of its ends after 1,000 rows.
func numbers(count int) string {
	const digits = `(SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)`
	return fmt.Sprintf(`(SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS n FROM %[1]s a, %[1]s b, %[1]s c, %[1]s e) AS ns WHERE n < %[2]d`, digits, count)
}

// eventually waits for a state of the server that gives no signal.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for until := time.Now().Add(patience); !ok(); <-ticker.C {
		if time.Now().After(until) {
			t.Fatalf("never: %s", what)
		}
	}
}

// unlocked checks that nobody holds the lock of the call's identity.
func (s shop) unlocked(t testing.TB, c refrain.Call) {
	t.Helper()
	hash := identityOf(t, c).Hash()
	if got := column(t, s.raw, `SELECT COALESCE(IS_USED_LOCK(`+lockName+`), 0)`, hash[:])[0]; got != "0" {
		t.Errorf("connection %s still holds the lock", got)
	}
}
