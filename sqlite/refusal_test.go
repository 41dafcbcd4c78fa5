package sqlite

import (
	"runtime"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/refrain-dev/refrain"
)

// A conflict with a record of the same group is no answer before that group's
// COMMIT: here the COMMIT fails, and what the conflict was with never happened.
func TestRefusalWaitsForCommit(t *testing.T) {
	db := openShop(t)
	// other has flights of its own, as if it did not know that db works on k.
	other := &DB{opts: db.opts, readers: db.readers, lookups: db.lookups, writer: db.writer, haste: time.Hour}
	other.driver.Load = other.Load
	changed := call("k")
	changed.Input = []byte("coffee")

	answered := make(chan error, 1)
	commits := 0
	between(t, db, func(statement string, run func() error) error {
		if statement != "COMMIT" {
			return run()
		}
		if commits++; commits != 2 { // the first is hold's
			return run()
		}
		for range 1000 {
			runtime.Gosched() // time for an answer that should not be given
		}
		select {
		case err := <-answered:
			t.Errorf("answered %v before COMMIT", err)
			answered <- err
		default:
		}
		return sqlite3.IOERR
	})
	together(t, db,
		func() {
			if err := run(db, call("k"), put("tea")); err != nil {
				t.Error(err)
			}
		},
		func() { answered <- run(other, changed, put("coffee")) })
	wantRow(t, <-answered, "4", refrain.ErrKeyReused)
	wantItems(t, db, "tea")
}
