package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/witness"
	"github.com/refrain-dev/refrain/upkeep"
)

// watch compares db with the witness before anything is served, and returns what
// goes on to do so; nil where no witness is named.
func (m *Main) watch(ctx context.Context, db upkeep.Retention, path string) (run func(context.Context) error, err error) {
	if path == "" {
		return nil, nil
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	w := upkeep.Watch{Store: db, Witness: witness.File(path), Observe: func(set *upkeep.Fence, err error) {
		if set != nil {
			m.fenced(set)
		}
		if err != nil {
			fmt.Fprintf(m.Stderr, "refrain: %v\n", err)
		}
	}}
	set, err := w.Check(ctx)
	if err != nil {
		return nil, unusable("name another file with --witness, or look at the database", "%w", err)
	}
	if set != nil {
		m.fenced(set)
	}
	return untilDone(w.Run), nil
}

func (m *Main) fenced(f *upkeep.Fence) {
	fmt.Fprintf(m.Stderr, "refrain: fence %d until %s: %s; refrain review list shows what it refuses\n", f.ID, shown(f.Until), f.Reason)
}
