package upkeep

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/record"
)

// Review is a refused late retry that waits for a person.
type Review struct {
	Identity record.Identity
	Print    fingerprint.Print // of the request that was refused first
	First    time.Time
	Last     time.Time
	Count    int
}

// ID names a review without its key.
func (r Review) ID() string {
	hash := r.Identity.Hash()
	return hex.EncodeToString(hash[:])
}

// ReviewQuery selects reviews.
type ReviewQuery struct {
	ID        string // that one alone; "" is every one
	Scope     string // as stored; "" is every scope
	Operation string // "" is every operation
	After     string // the ID to go on behind
	Limit     int    // 0 means 100, cut to 1,000
}

// Bounded is the limit of q.
func (q ReviewQuery) Bounded() int {
	if q.Limit <= 0 {
		return 100
	}
	return min(q.Limit, 1000)
}

// ErrReviewed means that what was under review has been settled: by somebody else,
// or by a record that came meanwhile.
var ErrReviewed = errors.New("refrain: it is no longer under review")

// Allow lets the identity of a review execute once. [record.ErrNotFound]: there is
// no such review; [ErrReviewed]: its identity has a record.
func Allow(ctx context.Context, k Keeper, id, by, reason string) error {
	return settleReview(ctx, k, id, by, reason, func(r Review, _ time.Time) (record.Edit, error) {
		return record.Edit{GrantAllow: reason, Action: "allow", Detail: fmt.Sprintf("%s of %s in %s", r.ID(), r.Identity.Operation, r.Identity.Scope)}, nil
	})
}

// Done records that the action of a review was done before, with its effect
// reference: repeats are told so. Errors as [Allow].
func Done(ctx context.Context, k Keeper, id, effect, by, reason string) error {
	return settleReview(ctx, k, id, by, reason, func(r Review, now time.Time) (record.Edit, error) {
		memory, err := memoryOf(ctx, k, r.Identity.Operation)
		if err != nil {
			return record.Edit{}, err
		}
		t := tombstone(r.Identity, effect, now, now, memory)
		t.Print = r.Print
		return record.Edit{Put: &t, Action: "done", Detail: effect}, nil
	})
}

func settleReview(ctx context.Context, k Keeper, id, by, reason string, edit func(Review, time.Time) (record.Edit, error)) error {
	if err := Signed(by, reason); err != nil {
		return err
	}
	if id == "" { // for a query that is every one
		return record.ErrNotFound
	}
	found, err := k.Reviews(ctx, ReviewQuery{ID: id, Limit: 1})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return record.ErrNotFound
	}
	over := false
	err = k.Change(ctx, found[0].Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
		over = seen.Record != nil && !forgotten(seen.Record, now)
		switch {
		case over: // what refused it has ended; it is no more to be listed
			return record.Edit{Reviewed: true}, nil
		case seen.Allowed:
			return record.Edit{}, ErrReviewed
		}
		e, err := edit(found[0], now)
		e.Reviewed, e.By, e.Reason = true, by, reason
		return e, err
	})
	if err == nil && over {
		err = ErrReviewed
	}
	return err
}

// forgotten reports a record that reads as none, whether or not a reaper has been there.
func forgotten(rec *record.Record, now time.Time) bool {
	return rec.State.Final() && !rec.Disputed && !now.Before(rec.RememberUntil)
}

// tombstone is a record of something that was done at final and whose request and
// result nobody has.
func tombstone(id record.Identity, effect string, final, now time.Time, memory time.Duration) record.Record {
	final = record.Micro(final)
	return record.Record{
		Identity: id, Ref: record.NewRef(now), State: record.Confirmed,
		Result:  record.Result{Effect: effect, Digest: record.Trimmed},
		Created: record.Micro(now), Final: final, ReplayUntil: final, RememberUntil: record.Micro(now.Add(memory)), Attempt: 1,
	}
}

var errUnregistered = errors.New("refrain: no contract of the operation is registered")

// memoryOf is how long the registered contract of an operation remembers.
func memoryOf(ctx context.Context, k Keeper, operation string) (time.Duration, error) {
	contracts, err := k.Contracts(ctx)
	if err != nil {
		return 0, err
	}
	stored, ok := contracts[operation]
	if !ok {
		return 0, fmt.Errorf("%w: %q", errUnregistered, operation)
	}
	var c refrain.Contract
	if err := json.Unmarshal([]byte(stored), &c); err != nil {
		return 0, fmt.Errorf("refrain: the stored contract of %q: %w", operation, err)
	}
	return c.RememberFor, nil
}
