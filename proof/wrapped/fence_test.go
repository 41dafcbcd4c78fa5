//go:build unix

package wrapped

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/refrain-dev/refrain"
)

// TestFenceRecipe: an owner that was overtaken cannot overwrite what the newer
// attempt wrote, if its statement asks for the fence.
func TestFenceRecipe(t *testing.T) {
	t.Parallel()
	s := scene(t)
	s.Rerun = true
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(filepath.Dir(s.DB), "bank.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(`CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, fence INTEGER);
		INSERT INTO account VALUES (1, 0, 0)`); err != nil {
		t.Fatal(err)
	}
	write := func(w http.ResponseWriter, r *http.Request, balance int64) {
		running, _ := refrain.CallFrom(r.Context())
		res, err := db.Exec(`UPDATE account SET balance = ?, fence = ? WHERE id = ? AND fence <= ?`, balance, running.Fence, 1, running.Fence)
		if err != nil {
			t.Error(err)
			return
		}
		if n, _ := res.RowsAffected(); n == 0 {
			http.Error(w, "overtaken", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}

	paused, overtaken, written := make(chan struct{}), make(chan struct{}), make(chan struct{})
	old := serveOver(t, s, s.contract(), func(w http.ResponseWriter, r *http.Request) {
		close(paused)
		<-overtaken
		write(w, r, 100)
		close(written)
	})
	old.store.fail(2, false) // the process that is paused extends nothing
	go post(old.url)
	<-paused
	other := serveOver(t, s, s.contract(), func(w http.ResponseWriter, r *http.Request) { write(w, r, 200) })
	if a := settle(t, other.url); a.status != 201 || a.replayed() {
		t.Errorf("the newer attempt = %d %s", a.status, a.problem())
	}
	close(overtaken)
	<-written
	var balance int
	if err := db.QueryRow(`SELECT balance FROM account`).Scan(&balance); err != nil || balance != 200 {
		t.Errorf("balance = %d, %v", balance, err)
	}
	if a := post(other.url); a.status != 201 || !a.replayed() {
		t.Errorf("a retry = %d %s", a.status, a.problem())
	}
}
