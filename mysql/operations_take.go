package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// Take implements [operation.Store]: on a connection of ours one round trip to lock
// what is due, one for the records and the partitions, and one to write and commit.
func (o operations) Take(ctx context.Context, provider string, limit int, decide func(operation.Seen) operation.Edit) ([]operation.Operation, time.Time, error) {
	if record.Nested(ctx) {
		return nil, time.Time{}, record.ErrNested
	}
	var all []operation.Seen
	var unread unreadable
	first := func() []ask {
		all, unread = nil, unreadable{}
		return []ask{o.locking(takeSQL, &all, &unread, []byte(provider), o.db.stamp(), int64(operation.Format), max(limit, 0))}
	}
	var written []operation.Operation
	var now time.Time
	err := o.db.editOperations(ctx, first, func(ctx context.Context, e *editing) ([]statement, error) {
		now = e.now()
		offered, err := e.look(ctx, provider, all, &unread)
		if err == nil {
			err = e.lost(ctx, offered)
		}
		if err != nil {
			return nil, err
		}
		w := writing{now: now, packet: e.moment.integer(2)}
		for _, seen := range offered {
			seen.Now = now
			if err := w.write(seen, decide(shown(seen))); err != nil {
				return nil, err
			}
		}
		written = w.written
		return append(unread.statements(now), w.statements()...), nil
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return written, now, errors.Join(unread.errs...)
}

// locking asks for operations. Without unread one that cannot be read is an error.
func (o operations) locking(query string, all *[]operation.Seen, unread *unreadable, args ...any) ask {
	return ask{query, args, operationColumnCount, func(r anyRow) error {
		op, err := decodeOperation(r)
		if unread != nil && errors.Is(err, record.RecordUnreadable) {
			unread.add(op, err)
			return nil
		}
		*all = append(*all, operation.Seen{Operation: op})
		return err
	}}
}

// unreadable is what cannot be decided about.
type unreadable struct {
	seqs []int64
	errs []error
}

func (u *unreadable) add(o operation.Operation, err error) {
	u.seqs, u.errs = append(u.seqs, o.Seq), append(u.errs, fmt.Errorf("mysql: operation %s: %w", o.Ref, err))
}

// statements move it out of the way.
func (u *unreadable) statements(now time.Time) (all []statement) {
	for _, seq := range u.seqs {
		all = append(all, statement{query: asideSQL, args: []any{micros(now.Add(operation.Aside)), seq}})
	}
	return all
}

// now is one stamp for the transaction.
func (e *editing) now() time.Time {
	return record.Micro(e.db.now(time.UnixMicro(e.moment.integer(0)).UTC()))
}

// lost tells until when what happened to each may have been lost.
func (e *editing) lost(ctx context.Context, all []operation.Seen) error {
	if len(all) == 0 || e.moment.integer(3) == 0 {
		return nil
	}
	var fences []upkeep.Fence
	err := e.ask(ctx, nil, []ask{{`SELECT operation, scope, until FROM refrain_fence` + every, nil, 3, func(r anyRow) error {
		fences = append(fences, upkeep.Fence{Operation: r.text(0), Scope: r.text(1), Until: r.instant(2)})
		return nil
	}}})
	for i := range all {
		all[i].LostUntil = upkeep.LostUntil(fences, all[i].Record)
	}
	return err
}

// look locks the records that wait for the operations, and looks for those that
// the operations of a partition wait for. It looks once their rows are locked:
// whoever passes such a head later waits for them, and makes the next one due
// after us. What waits for a newer version's record is left for it, and what waits
// for one that cannot be read is unread.
func (e *editing) look(ctx context.Context, provider string, all []operation.Seen, unread *unreadable) ([]operation.Seen, error) {
	actions, partitions := make(map[string][]*operation.Seen), make(map[string][]*operation.Seen)
	newer, broken := make(map[string]bool), make(map[string]error)
	var refs, heads []any
	for i := range all {
		o := all[i].Operation
		if o.Action != "" && actions[o.Action] == nil {
			refs = append(refs, encodeRef(o.Action))
		}
		if o.Partition != "" && partitions[o.Partition] == nil {
			heads = append(heads, []byte(provider), []byte(o.Partition))
		}
		actions[o.Action] = append(actions[o.Action], &all[i])
		partitions[o.Partition] = append(partitions[o.Partition], &all[i])
	}
	var asks []ask
	if len(refs) > 0 {
		query := `SELECT ` + columns + `, r.body FROM refrain_record r WHERE r.ref IN (` + marks(len(refs)) + `) ORDER BY r.ref` + every + ` FOR UPDATE`
		asks = append(asks, ask{query, refs, bodyColumn + 1, func(r anyRow) error {
			rec, err := decodeAt(r, true)
			switch {
			case errors.Is(err, record.ErrNewerFormat):
				rec.Ref, err = decodeRef(r.blob(0))
				newer[rec.Ref] = true
			case errors.Is(err, record.RecordUnreadable):
				why := err
				rec.Ref, err = decodeRef(r.blob(0))
				broken[rec.Ref] = why
			}
			for _, seen := range actions[rec.Ref] {
				seen.Record = &rec
			}
			return err
		}})
	}
	if len(heads) > 0 {
		query := `(` + headSQL + `)` + strings.Repeat(` UNION ALL (`+headSQL+`)`, len(heads)/2-1) + every
		asks = append(asks, ask{query, heads, 3, func(r anyRow) error {
			for _, seen := range partitions[r.text(2)] {
				if seen.Operation.Seq > r.integer(0) {
					seen.Behind = r.instant(1)
				}
			}
			return nil
		}})
	}
	if len(asks) == 0 {
		return all, nil
	}
	err := e.ask(ctx, nil, asks)
	return slices.DeleteFunc(all, func(seen operation.Seen) bool {
		o := seen.Operation
		if err := broken[o.Action]; err != nil {
			unread.add(o, err)
		}
		return newer[o.Action] || broken[o.Action] != nil
	}), err
}
