package memstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// Walk implements [upkeep.Retention].
func (db *DB) Walk(ctx context.Context, after string, limit int) (upkeep.Walked, error) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	w := upkeep.Walked{Unreadable: make(map[string]error)}
	if err := db.readable(ctx); err != nil {
		return w, err
	}
	if limit <= 0 || limit > 1000 {
		limit = 1000
	}
	refs := db.between(after, "", false)
	if len(refs) >= limit {
		refs = refs[:limit]
		w.Next = refs[limit-1]
	}
	for _, ref := range refs {
		id, _ := db.refs.get(ref, false)
		row, _ := db.records.get(id, false)
		switch err := sound(id, row.rec); {
		case err == nil:
			w.Records = append(w.Records, *clone(row.rec))
		case errors.Is(err, record.RecordUnreadable):
			w.Unreadable[ref] = err
		default:
			w.Unreadable[ref] = fmt.Errorf("%w: %w", record.RecordUnreadable, err)
		}
	}
	return w, nil
}

// between returns the refs behind after up to last, in order; a last of "" is the
// end.
func (db *DB) between(after, last string, mine bool) []string {
	var refs []string
	for ref := range db.refs.all(mine) {
		if ref > after && (last == "" || ref <= last) {
			refs = append(refs, ref)
		}
	}
	slices.Sort(refs)
	return refs
}
