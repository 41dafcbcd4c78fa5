package main

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/enginetest"
)

// TestPrepareTogether: processes that start at the same moment on a database that
// is not there yet, or empty, all find it ready.
func TestPrepareTogether(t *testing.T) {
	t.Parallel()
	const processes = 6
	for scheme, rounds := range map[string]int{"sqlite": 15, "postgres": 3, "mysql": 3} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			for range rounds {
				at := enginetest.Place(t, enginetest.URL(t, scheme))
				gate := make(chan struct{})
				var all sync.WaitGroup
				for range processes {
					all.Go(func() {
						<-gate
						if err := prepareOnce(at); err != nil {
							t.Error(err)
						}
					})
				}
				close(gate)
				all.Wait()
			}
		})
	}
}

func prepareOnce(at engine.Place) (err error) {
	ctx := context.Background()
	if err := demoable(ctx, at); err != nil {
		return err
	}
	db, err := at.Open(ctx, brief)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	var notices bytes.Buffer
	m := Main{Stderr: &notices}
	return m.prepare(ctx, db, at)
}
