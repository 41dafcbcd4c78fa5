package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

const walkSQL = `SELECT ` + columns + `, r.body, r.hash FROM refrain_record r WHERE r.ref > ? ORDER BY r.ref LIMIT ?`

// Walk implements [upkeep.Retention]. A part ends early where its bodies exceed
// 16 MiB.
func (db *DB) Walk(ctx context.Context, after string, limit int) (upkeep.Walked, error) {
	if limit <= 0 || limit > 1000 {
		limit = 1000
	}
	w := upkeep.Walked{Unreadable: make(map[string]error)}
	looked, size := 0, 0
	err := db.lookups.rows(ctx, walkSQL, func(r row) error {
		ref := r.text(0)
		rec, err := decode(r, 0, true)
		if hash := rec.Identity.Hash(); err == nil && !bytes.Equal(hash[:], r.blob(bodyColumn+1)) {
			err = errors.New("it is not where its identity belongs")
		}
		switch {
		case err == nil:
			w.Records = append(w.Records, rec)
		case errors.Is(err, record.RecordUnreadable):
			w.Unreadable[ref] = err
		default:
			w.Unreadable[ref] = fmt.Errorf("%w: %w", record.RecordUnreadable, err)
		}
		looked++
		if size += len(rec.Result.Body); looked == limit || size >= pageBytes {
			w.Next = ref
			return errEnough
		}
		return nil
	}, after, limit)
	if err != nil && !errors.Is(err, errEnough) {
		return upkeep.Walked{}, migrated(err)
	}
	return w, nil
}

// errEnough ends a reading early.
var errEnough = errors.New("sqlite: enough")
