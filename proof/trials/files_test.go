package trials

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/sqlite"
)

type memory struct {
	*memstore.DB
	made    atomic.Int64
	refuses *atomic.Bool
}

func newMemory(t *testing.T, now func() time.Time) engine {
	refuses := new(atomic.Bool)
	return &memory{refuses: refuses, DB: memstore.New(memstore.Options{Now: now, Commit: func() error {
		if refuses.Load() {
			return io.ErrShortWrite
		}
		return nil
	}})}
}

func (m *memory) guarded(g refrainhttp.Guard, c refrain.Contract, h handler) http.Handler {
	return refrainhttp.Handle(g, m.DB, c, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		return h(w, r, func() error { return tx.Put("orders", fmt.Sprint(m.made.Add(1)), nil) })
	})
}

func (m *memory) rows(*testing.T) int {
	n := 0
	for range m.Scan("orders") {
		n++
	}
	return n
}

func (m *memory) again(*testing.T) engine { return m }

func (m *memory) refusing(*testing.T) (engine, func() func()) {
	return m, func() func() {
		m.refuses.Store(true)
		return func() { m.refuses.Store(false) }
	}
}

type file struct {
	*sqlite.DB
	path string
	now  func() time.Time
}

func newFile(t *testing.T, now func() time.Time) engine {
	return openFile(t, filepath.Join(t.TempDir(), "shop.db"), now, 5*time.Second)
}

func openFile(t *testing.T, path string, now func() time.Time, busy time.Duration) *file {
	t.Helper()
	db, err := sqlite.Open(path, sqlite.Options{Now: now, Normal: true, Busy: busy})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Setup(t.Context(), `CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	return &file{db, path, now}
}

func (f *file) guarded(g refrainhttp.Guard, c refrain.Contract, h handler) http.Handler {
	return refrainhttp.Handle(g, f.DB, c, func(w http.ResponseWriter, r *http.Request, tx sqlite.Tx) error {
		return h(w, r, func() error {
			_, err := tx.ExecContext(r.Context(), `INSERT INTO orders DEFAULT VALUES`)
			return err
		})
	})
}

func (f *file) rows(t *testing.T) int {
	t.Helper()
	var n int
	if err := f.Reader().QueryRow(`SELECT count(*) FROM orders`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (f *file) again(t *testing.T) engine { return openFile(t, f.path, f.now, 5*time.Second) }

// refusing lets somebody else hold the write lock.
func (f *file) refusing(t *testing.T) (engine, func() func()) {
	t.Helper()
	return openFile(t, f.path, f.now, 500*time.Millisecond), func() func() {
		holding, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			done <- f.Update(context.Background(), func(context.Context, sqlite.Tx) error {
				close(holding)
				<-release
				return nil
			})
		}()
		<-holding
		return func() {
			close(release)
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
}
