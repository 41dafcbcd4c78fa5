package memstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Fence stands after a restore: keys born until Until and not found may be
// retries of something lost.
type Fence struct {
	ID        int    // 0 for a new one
	Operation string // "" covers all
	Scope     string // encoded, see refrain.Scope.String; "" covers all
	Until     time.Time
	Since     time.Time // when it was set
	Reason    string
	By        string
	Ended     bool // untimed keys run again; timed ones stay fenced
}

func (f Fence) covers(id record.Identity) bool {
	return (f.Operation == "" || f.Operation == id.Operation) && (f.Scope == "" || f.Scope == id.Scope)
}

// SetFence sets a new fence, or changes the one with its ID. One that reaches
// into the future is refused: it would hold back keys that are not yet born.
func (db *DB) SetFence(ctx context.Context, f Fence) (Fence, error) {
	err := db.within(ctx, func(t *transaction) error {
		now := db.options.Now()
		if f.Until.After(now) {
			return errors.New("memstore: the fence's until is later than now")
		}
		if f.ID == 0 {
			for id := range db.fences.all(true) {
				f.ID = max(f.ID, id)
			}
			f.ID++
			f.Since = record.Micro(now)
		}
		f.Until = record.Micro(f.Until)
		db.fences.put(t, f.ID, f)
		return nil
	})
	return f, err
}

// Allow lets one refused identity execute once; the effect's transaction
// spends it.
func (db *DB) Allow(ctx context.Context, id record.Identity) error {
	return db.within(ctx, func(t *transaction) error {
		db.allows.put(t, id, struct{}{})
		return nil
	})
}

// Review is a refused late retry that waits for a person: one per identity.
type Review struct {
	Identity    record.Identity
	Born        time.Time // the time inside the key; zero for an untimed one
	Count       int       // how often it was refused
	First, Last time.Time
}

// Reviews returns the late retries kept for review, oldest first.
func (db *DB) Reviews() []Review {
	db.mu.RLock()
	defer db.mu.RUnlock()
	reviews := make([]Review, 0, len(db.reviews))
	for _, r := range db.reviews {
		reviews = append(reviews, r)
	}
	slices.SortFunc(reviews, func(a, b Review) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Identity.Key, b.Identity.Key))
	})
	return reviews
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
		born, _ := c.Policy.KeyTime.Birth(c.Identity.Key)
		r = Review{Identity: c.Identity, Born: born, First: record.Micro(now)}
	}
	r.Count++
	r.Last = record.Micro(now)
	db.reviews[c.Identity] = r
	return nil
}

// Tamper changes a stored record behind the store's back, for tests:
// [record.ErrNotFound] when there is none.
func (db *DB) Tamper(ctx context.Context, id record.Identity, change func(rec *record.Record)) error {
	return db.within(ctx, func(t *transaction) error {
		row, ok := db.records.get(id, true)
		if !ok {
			return record.ErrNotFound
		}
		row.rec = clone(row.rec)
		change(row.rec)
		db.records.put(t, id, row)
		return nil
	})
}
