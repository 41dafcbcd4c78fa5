package processes

import (
	"fmt"
	"path/filepath"
	"testing"
)

// TestProcessesStartAtOnce starts processes on a file that is not there yet:
// each migrates or finds it migrated, none fails, and they share their records.
func TestProcessesStartAtOnce(t *testing.T) {
	const processes = 2
	for n := range Size(2, 10, 50) {
		path := filepath.Join(t.TempDir(), "shop.db")
		var demos [processes]*Demo
		for i := range demos {
			demos[i] = Launch(t, path)
		}
		client := NewClient(1)
		var first Answer
		for i, d := range demos {
			d.Ready(t)
			a, err := client.Post(t.Context(), d.URL, Order{"key", "BOOK-1", 1})
			if err != nil || a.Kind() != Success || a.Replayed() != (i > 0) {
				t.Fatalf("start %d, process %d answered %s: %v", n, i, a, err)
			}
			if i == 0 {
				first = a
			}
			if diff := a.Differs(first); diff != "" {
				t.Fatalf("start %d: the processes differ: %s", n, diff)
			}
		}
		client.Close()
		for _, d := range demos {
			d.Stop(t)
		}
		if census, err := Verify(t.Context(), path); err != nil || census.Orders != 1 {
			t.Fatalf("start %d: %+v, %v", n, census, err)
		}
	}
}

// TestMigrationsAtOnce runs the command itself several times at once.
func TestMigrationsAtOnce(t *testing.T) {
	program := Program(t)
	for n := range Size(2, 10, 50) {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("shop-%d.db", n))
		ended := make(chan error)
		const commands = 4
		for range commands {
			go func() {
				_, err := Command(t.Context(), program, "migrate", "--db", "sqlite:"+path)
				ended <- err
			}()
		}
		for range commands {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if _, err := Command(t.Context(), program, "migrate", "status", "--db", "sqlite:"+path); err != nil {
			t.Error(err)
		}
	}
}
