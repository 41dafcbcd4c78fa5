package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Lost is a business row whose record may have been lost.
type Lost struct {
	Identity record.Identity
	Effect   string    // its effect reference: what a repeat is told
	At       time.Time // when it was made
}

// ErrLost is wrapped by what is wrong with a [Lost] itself: an operation without a
// registered contract, a scope that no call of it can have, and a time to come, too.
var ErrLost = errors.New("refrain: the row cannot be rebuilt")

// Rebuilt is what a rebuild did.
type Rebuilt struct {
	Looked  int `json:"looked"`
	Made    int `json:"made"`    // tombstones
	Known   int `json:"known"`   // had a record
	Past    int `json:"past"`    // would be forgotten by now
	Allowed int `json:"allowed"` // of those made: might have run once more, and may not now
}

// Rebuild makes a tombstone for each row that has no record, so that a repeat is
// told that the action was done instead of doing it again. The tombstone ends
// when the registered contract's memory, from the row's time, does. It remembers
// no request: whatever comes with its key counts as the repeat. It may be run
// again; each row is a transaction of its own, with a line of audit. The first
// error ends it.
func Rebuild(ctx context.Context, k Keeper, rows iter.Seq2[Lost, error], by, reason string) (Rebuilt, error) {
	var done Rebuilt
	if err := Signed(by, reason); err != nil {
		return done, err
	}
	contracts := make(map[string]refrain.Contract)
	for row, err := range rows {
		if err != nil {
			return done, fmt.Errorf("row %d: %w: %w", done.Looked+1, ErrLost, err)
		}
		done.Looked++
		operation := row.Identity.Operation
		if _, ok := contracts[operation]; !ok {
			if contracts[operation], err = contractOf(ctx, k, operation); err != nil {
				if errors.Is(err, errUnregistered) {
					err = fmt.Errorf("%w: %w", ErrLost, err)
				}
				return done, fmt.Errorf("row %d: %w", done.Looked, err)
			}
		}
		if err := rebuild(ctx, k, row, contracts[operation], by, reason, &done); err != nil {
			return done, fmt.Errorf("row %d: %w", done.Looked, err)
		}
	}
	return done, nil
}

func rebuild(ctx context.Context, k Keeper, row Lost, contract refrain.Contract, by, reason string, done *Rebuilt) error {
	if row.Identity.Scope == "" || row.Identity.Key == "" || len(row.Identity.Key) > maxName || row.At.IsZero() {
		return fmt.Errorf("%w: it needs a scope, a key of at most 255 bytes and a time", ErrLost)
	}
	if !writes(row.Identity.Scope, contract.IdentityVersion()) {
		return fmt.Errorf("%w: %q is no scope of %s, such as tenant=north", ErrLost, row.Identity.Scope, contract.IdentityVersion())
	}
	var counted *int
	var allowed bool
	err := k.Change(ctx, row.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
		if row.At.After(now.Add(clocksApart)) {
			return record.Edit{}, fmt.Errorf("%w: its time, %s, is later than now, %s", ErrLost,
				row.At.UTC().Format(time.RFC3339Nano), now.UTC().Format(time.RFC3339Nano))
		}
		t := tombstone(row.Identity, row.Effect, row.At, now, 0)
		t.RememberUntil = t.Final.Add(contract.RememberFor)
		allowed = seen.Allowed
		switch {
		case seen.Record != nil && !forgotten(seen.Record, now):
			counted = &done.Known
			return record.Edit{}, nil
		case !now.Before(t.RememberUntil):
			counted = &done.Past
			return record.Edit{}, nil
		}
		counted = &done.Made
		return record.Edit{Put: &t, Reviewed: true, SpendAllow: seen.Allowed, By: by, Action: "rebuild", Reason: reason, Detail: row.Effect}, nil
	})
	if err != nil {
		return err
	}
	*counted++
	if counted == &done.Made && allowed {
		done.Allowed++
	}
	return nil
}

// writes reports whether a call under an identity version can have this scope: a
// tombstone under another one is found by nobody.
func writes(scope, version string) bool {
	parts, err := dimensions(scope)
	if err != nil {
		return false
	}
	var written refrain.Scope
	var names []string
	for _, part := range parts {
		if part[1] == "" || len(part[1]) > maxScopeValue {
			return false
		}
		written = written.With(part[0], part[1])
		names = append(names, part[0])
	}
	return written.String() == scope && fits(names, version)
}

// contractOf is the registered contract of an operation.
func contractOf(ctx context.Context, k Keeper, operation string) (c refrain.Contract, err error) {
	contracts, err := k.Contracts(ctx)
	if err != nil {
		return c, err
	}
	stored, ok := contracts[operation]
	if !ok {
		return c, fmt.Errorf("%w: %q", errUnregistered, operation)
	}
	if err := json.Unmarshal([]byte(stored), &c); err != nil {
		return c, fmt.Errorf("refrain: the stored contract of %q: %w", operation, err)
	}
	return c, nil
}
