package main

import (
	"bytes"
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/refrain-dev/refrain/sqlite"
)

// TestPrepareTogether: processes that start at the same moment on a file that
// does not exist yet all find it ready.
func TestPrepareTogether(t *testing.T) {
	t.Parallel()
	const rounds, processes = 15, 6
	for range rounds {
		path := filepath.Join(t.TempDir(), "demo.db")
		gate := make(chan struct{})
		var all sync.WaitGroup
		for range processes {
			all.Go(func() {
				<-gate
				if err := prepareOnce(path); err != nil {
					t.Error(err)
				}
			})
		}
		close(gate)
		all.Wait()
	}
}

func prepareOnce(path string) (err error) {
	db, err := open(path, sqlite.Options{Readers: 1})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	var notices bytes.Buffer
	m := Main{Stderr: &notices}
	return m.prepare(context.Background(), db, path)
}
