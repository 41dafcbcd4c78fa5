package upkeep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Witness remembers outside the database how far a store had come, so that one
// which comes back older is noticed. It must not be part of the store's backup.
type Witness interface {
	// Load returns what was saved last, or [record.ErrNotFound].
	Load(ctx context.Context) (Incarnation, error)
	// Save keeps it durably in place of what was saved before.
	Save(ctx context.Context, i Incarnation) error
}

// Watch compares a store with its witness, and fences a store that is behind.
type Watch struct {
	Store   Retention
	Witness Witness
	// Every is the interval of the saves. What was recorded in the last two of them
	// before a restore is covered, too. 0 means a second, which is the least.
	Every time.Duration
	// Observe is told of each fence that was set and of each error. May be nil.
	Observe func(set *Fence, err error)
}

func (w *Watch) every() time.Duration { return max(w.Every, time.Second) }

// Check looks once: call it before the service takes requests. It returns the
// fence that it set; nil when the store is not behind. A store without a witness
// becomes witnessed.
func (w *Watch) Check(ctx context.Context) (*Fence, error) {
	saved, err := w.Witness.Load(ctx)
	if errors.Is(err, record.ErrNotFound) {
		return nil, w.save(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("refrain: the witness: %w", err)
	}
	is, err := w.Store.Incarnation(ctx)
	if err != nil {
		return nil, err
	}
	if !is.Reaches(saved) { // not raised before it is fenced: it would catch up
		set, err := w.fence(ctx, is, saved)
		if err != nil {
			return nil, err
		}
		return set, w.save(ctx)
	}
	if is, err = w.Store.Advance(ctx); err != nil {
		return nil, err
	}
	var set *Fence
	if !is.Passes(saved) { // it was exchanged between the two
		if set, err = w.fence(ctx, is, saved); err != nil {
			return nil, err
		}
	}
	return set, w.keep(ctx, is)
}

// Run checks, and then goes on to save and to check, until ctx ends. An error ends
// nothing: the next interval tries again.
func (w *Watch) Run(ctx context.Context) error {
	for {
		set, err := w.Check(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if w.Observe != nil && (set != nil || err != nil) {
			w.Observe(set, err)
		}
		if !pause(ctx, w.every()) {
			return ctx.Err()
		}
	}
}

// save raises the store's counter first: a witness that is behind does no harm.
func (w *Watch) save(ctx context.Context) error {
	now, err := w.Store.Advance(ctx)
	if err != nil {
		return err
	}
	return w.keep(ctx, now)
}

func (w *Watch) keep(ctx context.Context, now Incarnation) error {
	if err := w.Witness.Save(ctx, now); err != nil {
		return fmt.Errorf("refrain: the witness: %w", err)
	}
	return nil
}

// Reaches reports whether a store has come at least as far as it was seen.
func (i Incarnation) Reaches(seen Incarnation) bool {
	return i.Store == seen.Store && i.Epoch == seen.Epoch && i.Counter >= seen.Counter
}

// Passes reports whether a store whose counter was just raised to i has come
// further than it was seen.
func (i Incarnation) Passes(seen Incarnation) bool {
	return i.Store == seen.Store && i.Epoch == seen.Epoch && i.Counter > seen.Counter
}

// fence covers what the store may have done since the witness saw it last, and
// never reaches to now: that would refuse what is new.
func (w *Watch) fence(ctx context.Context, is, saved Incarnation) (*Fence, error) {
	margin := 2 * w.every()
	until := saved.At.Add(margin)
	if until.After(is.At) && !saved.At.After(is.At.Add(margin)) {
		until = is.At // what was lost was made before; with a clock that is far behind nobody knows
	}
	f := Fence{
		Until: until, Early: margin, By: "witness",
		Reason: fmt.Sprintf("the store came back older than its witness: counter %d of epoch %d, seen %d of %d", is.Counter, is.Epoch, saved.Counter, saved.Epoch),
	}
	if is.Store != saved.Store {
		f.Reason = "the store is another one than its witness saw"
	}
	standing, err := w.Store.Fences(ctx)
	if err != nil {
		return nil, err
	}
	for _, other := range standing { // another process has seen it, too
		if other.By == f.By && other.Operation == "" && other.Scope == "" && other.Ended.IsZero() && !other.Until.Before(f.Until) {
			return nil, nil
		}
	}
	if f.ID, err = w.Store.SetFence(ctx, f); err != nil {
		return nil, err
	}
	return &f, nil
}
