package memstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// Reviews implements [upkeep.Retention].
func (db *DB) Reviews(ctx context.Context, q upkeep.ReviewQuery) ([]upkeep.Review, error) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if err := db.readable(ctx); err != nil {
		return nil, err
	}
	var found []upkeep.Review
	for id, r := range db.reviews {
		if (q.ID == "" || q.ID == r.ID()) && (q.Scope == "" || q.Scope == id.Scope) &&
			(q.Operation == "" || q.Operation == id.Operation) && r.ID() > q.After {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b upkeep.Review) int { return strings.Compare(a.ID(), b.ID()) })
	return found[:min(len(found), q.Bounded())], nil
}

var errReviewsFull = errors.New("memstore: the scope has as many reviews as are kept")

// late keeps a refused late retry. It belongs to no transaction: the refusal
// stands whatever becomes of the caller's.
func (db *DB) late(_ context.Context, c *record.Claim, now time.Time) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	r, known := db.reviews[c.Identity]
	if !known {
		inScope := 0
		for id := range db.reviews {
			if id.Scope == c.Identity.Scope {
				inScope++
			}
		}
		if inScope >= db.options.MaxReviews {
			return errReviewsFull
		}
		r = upkeep.Review{Identity: c.Identity, Print: c.Request.Print, First: record.Micro(now)}
	}
	r.Count++
	r.Last = record.Micro(now)
	db.reviews[c.Identity] = r
	return nil
}
