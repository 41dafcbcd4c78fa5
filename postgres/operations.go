package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// operations is the store of external operations of both engines, over one set
// of texts. T is the engine's transaction.
type operations[T any] struct {
	store *Store
	// in runs statements in a caller's transaction or an effect's.
	in func(tx T) runner
	// edit runs one READ COMMITTED transaction: a statement that locks, and then
	// work, which says what to commit it with. All of it runs again after a
	// serialization failure, a deadlock or a lost race. A COMMIT whose answer is
	// lost, or that no synchronous standby has confirmed, is row 10.
	edit func(ctx context.Context, l *locking, work func(context.Context, editing[T]) ([]statement, error)) error
	// channel is what is told of operations that are due; "" for none.
	channel string
	woken   func() <-chan struct{}
}

// editing is a transaction that operations are edited in.
type editing[T any] struct {
	run runner
	// lend gives the transaction to fn for one turn, after which it has something
	// to commit. Its error is fn's, or one to run the transaction again for.
	lend func(ctx context.Context, fn func(ctx context.Context, tx T) error) error
}

// declined is an error of whoever decides: it is returned as it is, and nothing
// is run again for it.
type declined struct{ error }

func (d declined) Unwrap() error { return d.error }

// undecided reports an error for which operations are locked and decided about
// again.
func undecided(err error) bool {
	var d declined
	return !errors.As(err, &d) && rerun(err)
}

// outcome is what an edit's error means to the caller.
func outcome(err error) error {
	var d declined
	if errors.As(err, &d) {
		return d.error
	}
	return migrated(err)
}

// Add implements [operation.Store]. After [operation.ErrAccepted] the transaction
// stands as before.
func (o operations[T]) Add(ctx context.Context, tx T, op operation.Operation) error {
	args, err := o.store.addArgs(op)
	if err != nil {
		return err
	}
	query := addText
	if o.channel != "" {
		query, args = addText+tellingText, append(args, o.channel)
	}
	n, err := o.in(tx).exec(ctx, o.store.sql.text(query), args...)
	switch {
	case err != nil:
		return fmt.Errorf("postgres: an operation: %w", migrated(err))
	case n == 0 && op.Action == "":
		return errors.New(markLost)
	case n == 0:
		return operation.ErrAccepted
	}
	return nil
}

// Load implements [operation.Store].
func (o operations[T]) Load(ctx context.Context, ref string) (operation.Operation, time.Time, error) {
	if !record.ValidRef(ref) {
		return operation.Operation{}, time.Time{}, record.ErrNotFound
	}
	found, err := o.store.operationsLike(ctx, loadText, packRef(ref))
	if err = found.whole(err); err == nil && len(found.all) == 0 {
		err = record.ErrNotFound
	}
	if err != nil {
		return operation.Operation{}, time.Time{}, err
	}
	return found.all[0], o.store.time(found.now), nil
}

// Of implements [operation.Store].
func (o operations[T]) Of(ctx context.Context, action string) ([]operation.Operation, error) {
	if !record.ValidRef(action) {
		return nil, nil
	}
	found, err := o.store.operationsLike(ctx, ofText, packRef(action))
	if err = found.whole(err); err != nil {
		return nil, err
	}
	return found.all, nil
}

// List implements [operation.Store].
func (o operations[T]) List(ctx context.Context, like operation.Operation, limit int) ([]operation.Operation, error) {
	if like.Action != "" && !record.ValidRef(like.Action) {
		return nil, nil
	}
	found, err := o.store.operationsLike(ctx, listOperationsText,
		like.Provider, like.Step, orNull(packRef(like.Action)), int64(like.State), like.Disputed, capped(limit))
	for i, op := range found.all {
		found.all[i] = op.Brief()
	}
	return found.all, found.whole(err)
}

// Due implements [operation.Store].
func (o operations[T]) Due(ctx context.Context) (map[string]time.Time, time.Time, error) {
	soon, cancel := o.store.opts.soon(ctx)
	defer cancel()
	var now int64
	since := make(map[string]time.Time)
	err := each(soon, o.store.read, func(row scanner) error {
		var provider *string
		var due *int64
		err := row.Scan(&now, &provider, &due)
		if err == nil && provider != nil {
			since[*provider] = timeAt(due)
		}
		return err
	}, o.store.sql.text(dueText), o.store.stamp())
	if err = unheard(soon, err); err != nil {
		return nil, time.Time{}, migrated(err)
	}
	return since, time.UnixMicro(now).UTC(), nil
}

// Forget implements [operation.Store].
func (o operations[T]) Forget(ctx context.Context, t time.Time, limit int) (forgotten int, err error) {
	if record.Nested(ctx) {
		return 0, record.ErrNested
	}
	err = o.store.write(ctx, func(ctx context.Context, tx runner) error {
		n, err := tx.exec(ctx, o.store.sql.text(forgetOperationsText), t.UnixMicro(), int64(operation.Format), int64(max(limit, 0)))
		forgotten = int(n)
		return err
	})
	if err != nil {
		return 0, migrated(err)
	}
	return forgotten, nil
}

// Woken implements [operation.Store]: it receives where [DB.Listen] runs and
// engines with [Options.Notify] accept operations.
func (o operations[T]) Woken() <-chan struct{} { return o.woken() }
