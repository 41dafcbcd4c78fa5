package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// A copy taken online while the engine writes has whole actions: each order with
// its record and each record with its order. What it has is replayed, what came
// after it runs.
func TestBackupOnline(t *testing.T) {
	ways := map[string]func(from, to string) error{
		"vacuum into": func(from, to string) error {
			_, err := plain(t, from, "busy_timeout(5000)").Exec(`VACUUM INTO ?`, to)
			return err
		},
		"backup": func(from, to string) error {
			c, err := sqlite3.Open(source(from, "ro"))
			if err != nil {
				return err
			}
			defer c.Close()
			return c.Backup("main", source(to, "rwc"))
		},
	}
	for name, backup := range ways {
		t.Run(name, func(t *testing.T) {
			path, copied := filepath.Join(t.TempDir(), "shop.db"), filepath.Join(t.TempDir(), "copy.db")
			db := openAt(t, path)
			item := func(writer, i int) string { return fmt.Sprintf("%d-%d", writer, i) }
			var written atomic.Int64
			var acked [4]int // by writer
			enough, stop := make(chan struct{}), make(chan struct{})
			var wg sync.WaitGroup
			for writer := range acked {
				wg.Go(func() {
					for i := 0; ; i++ {
						select {
						case <-stop:
							return
						default:
						}
						if err := run(db, call(item(writer, i)), put(item(writer, i))); err != nil {
							t.Error(err)
							return
						}
						acked[writer]++
						if written.Add(1) == 40 {
							close(enough)
						}
					}
				})
			}
			<-enough
			err := backup(path, copied)
			close(stop)
			wg.Wait()
			if err != nil {
				t.Fatal(err)
			}
			store := openAt(t, copied)
			kept := make(map[string]bool)
			for _, item := range items(t, store) {
				kept[item] = true
			}
			if len(kept) < 40 {
				t.Errorf("%d orders in the copy, 40 were acknowledged before it", len(kept))
			}
			for writer, n := range acked {
				for i := range n {
					runs := 0
					out, err := store.Execute(context.Background(), call(item(writer, i)), counted(&runs, put(item(writer, i))))
					if err != nil || out.Replayed != kept[item(writer, i)] || string(out.Body) != string(done.Body) {
						t.Errorf("%s: %+v, %v; in the copy: %t", item(writer, i), out, err, kept[item(writer, i)])
					}
				}
			}
			if all := items(t, store); int64(len(all)) != written.Load() {
				t.Errorf("%d orders, want %d", len(all), written.Load())
			}
		})
	}
}
