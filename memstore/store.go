package memstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// stored is a record as it is kept. rec is never changed in place.
type stored struct {
	rec  *record.Record
	born time.Time // as the contract read the key; zero for an untimed one
}

// Load implements [record.Store].
func (db *DB) Load(ctx context.Context, id record.Identity) (record.Seen, time.Time, error) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if err := db.readable(ctx); err != nil {
		return record.Seen{}, time.Time{}, err
	}
	seen, err := db.seen(id, false)
	return seen, db.options.Now(), err
}

// seen reads the record and what stands beyond it, as the running transaction
// does (mine) or as everybody else, who hold db.mu.
func (db *DB) seen(id record.Identity, mine bool) (record.Seen, error) {
	var seen record.Seen
	if row, ok := db.records.get(id, mine); ok {
		if err := sound(id, row.rec); err != nil {
			return seen, err
		}
		seen.Record = clone(row.rec)
	}
	op, _ := db.operations.get(id.Operation, mine)
	seen.Horizon, seen.IdentityVersion = op.horizon, op.identityVersion
	_, seen.Allowed = db.allows.get(id, mine)
	for _, f := range db.fences.all(mine) {
		if f.Covers(id) {
			seen.FenceOpen = seen.FenceOpen || f.Ended.IsZero()
			seen.FenceUntil = later(seen.FenceUntil, f.Until)
		}
	}
	seen.Held = !mine && db.held[id]
	return seen, nil
}

// sound refuses what this version cannot stand for.
func sound(id record.Identity, rec *record.Record) error {
	switch {
	case rec.Format > record.Format:
		return fmt.Errorf("memstore: format %d: %w", rec.Format, record.ErrNewerFormat)
	case rec.Identity != id:
		return fmt.Errorf("%w: it names another identity", record.RecordUnreadable)
	case rec.Format < 1 || rec.State < record.Accepted || rec.State > record.Rejected || !record.ValidRef(rec.Ref):
		return fmt.Errorf("%w: format, state or ref is broken", record.RecordUnreadable)
	case rec.State.Final() && (rec.Final.IsZero() || rec.ReplayUntil.IsZero() || rec.RememberUntil.IsZero()):
		return fmt.Errorf("%w: a deadline is missing", record.RecordUnreadable)
	}
	return nil
}

// Find implements [record.Store].
func (db *DB) Find(ctx context.Context, ref string) (record.Record, error) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if err := db.readable(ctx); err != nil {
		return record.Record{}, err
	}
	id, ok := db.refs.get(ref, false)
	if !ok {
		return record.Record{}, record.ErrNotFound
	}
	row, _ := db.records.get(id, false)
	if err := sound(id, row.rec); err != nil {
		return record.Record{}, err
	}
	return *clone(row.rec), nil
}

// Swap implements [record.Store].
func (db *DB) Swap(ctx context.Context, old, next record.Record) (record.Record, error) {
	if !record.ValidRef(next.Ref) {
		return record.Record{}, errors.New("memstore: the next record has no ref")
	}
	if old.Ref != "" && old.Identity != next.Identity {
		return record.Record{}, errors.New("memstore: a record keeps its identity")
	}
	written := clone(&next)
	err := db.within(ctx, func(t *transaction) error {
		var replaced *record.Record
		if row, ok := db.records.get(next.Identity, true); ok {
			replaced = row.rec
		}
		if replaced == nil != (old.Ref == "") || replaced != nil && (replaced.Ref != old.Ref || replaced.Version != old.Version) {
			return record.ErrSwapped
		}
		if owner, taken := db.refs.get(next.Ref, true); taken && owner != next.Identity {
			return errors.New("memstore: the next record's ref is another record's")
		}
		written.Version, written.Format = old.Version+1, record.Format
		born, _ := record.ByShape.Birth(next.Identity.Key)
		t.write(replaced, written, born)
		return nil
	})
	if err != nil {
		return record.Record{}, err
	}
	return *clone(written), nil
}

// write puts rec in place of the replaced one, nil for none.
func (t *transaction) write(replaced, rec *record.Record, born time.Time) {
	if replaced != nil {
		t.db.refs.remove(t, replaced.Ref)
	}
	t.db.records.put(t, rec.Identity, stored{clone(rec), born})
	t.db.refs.put(t, rec.Ref, rec.Identity)
}

// List implements [record.Store].
func (db *DB) List(ctx context.Context, like record.Record, limit int) ([]record.Record, error) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if err := db.readable(ctx); err != nil {
		return nil, err
	}
	var found []record.Record
	for _, row := range db.records.all(false) {
		switch {
		case like.Identity.Scope != "" && like.Identity.Scope != row.rec.Identity.Scope,
			like.Identity.Operation != "" && like.Identity.Operation != row.rec.Identity.Operation,
			like.State != 0 && like.State != row.rec.State:
			continue
		}
		bare := *row.rec
		bare.Result.Body = nil
		found = append(found, *clone(&bare))
	}
	slices.SortFunc(found, func(a, b record.Record) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(b.Ref, a.Ref))
	})
	if limit <= 0 {
		limit = 100
	}
	return found[:min(limit, 1000, len(found))], nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// clone copies rec with all it points at, its times cut to what is stored.
func clone(rec *record.Record) *record.Record {
	c := *rec
	c.Result = cloneResult(rec.Result)
	c.Evidence = slices.Clone(rec.Evidence)
	for i, e := range c.Evidence {
		c.Evidence[i] = cloneResult(e)
	}
	for _, at := range []*time.Time{&c.Created, &c.Final, &c.ReplayUntil, &c.RememberUntil, &c.Lease} {
		*at = record.Micro(*at)
	}
	return &c
}

func cloneResult(r record.Result) record.Result {
	r.Header = slices.Clone(r.Header)
	r.Body = bytes.Clone(r.Body)
	r.Digest = bytes.Clone(r.Digest)
	return r
}
