package memstore

import (
	"context"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// Audit is one line of what an operator did.
type Audit struct {
	At                              time.Time
	By, Action, Ref, Reason, Detail string
}

// Change implements [record.Store].
func (db *DB) Change(ctx context.Context, id record.Identity, decide func(record.Seen, time.Time) (record.Edit, error)) error {
	var review *record.Claim
	var at time.Time
	err := db.within(ctx, func(t *transaction) error {
		seen, err := db.seen(id, true)
		if err != nil {
			return err
		}
		now := db.options.Now()
		edit, err := decide(seen, now)
		if err != nil {
			return err
		}
		review, at = edit.Review, now
		if edit.By != "" {
			t.audit(Audit{At: now, Ref: edit.Subject(seen),
				By: edit.By, Action: edit.Action, Reason: edit.Reason, Detail: edit.Detail})
		}
		return t.apply(id, seen, edit)
	})
	if err == nil && review != nil {
		err = db.late(ctx, review, at)
	}
	return err
}

// apply writes an edit of what was seen.
func (t *transaction) apply(id record.Identity, seen record.Seen, edit record.Edit) error {
	db := t.db
	kept, _ := db.operations.get(id.Operation, true)
	born, _ := upkeep.KeyTime(kept.contract).Birth(id.Key)
	if c := edit.Register; c != nil {
		born, _ = c.Policy.KeyTime.Birth(id.Key)
		op, err := t.operation(id.Operation, c.IdentityVersion)
		if err != nil {
			return err
		}
		if op.contract == nil {
			if op.contract, err = c.Contract(); err != nil {
				return err
			}
			db.operations.put(t, id.Operation, op)
		}
	}
	if edit.Put != nil {
		if row, ok := db.records.get(id, true); ok && edit.Register == nil {
			born = row.born
		}
		edit.Put.Version, edit.Put.Format = 1, record.Format
		if seen.Record != nil && seen.Record.Ref == edit.Put.Ref {
			edit.Put.Version = seen.Record.Version + 1
		}
		t.write(seen.Record, edit.Put, born)
	}
	if edit.Remove && seen.Record != nil {
		db.refs.remove(t, seen.Record.Ref)
		db.records.remove(t, id)
	}
	if edit.Reviewed {
		t.after = append(t.after, func() { delete(db.reviews, id) })
	}
	if edit.SpendAllow {
		db.allows.remove(t, id)
	}
	if edit.GrantAllow != "" {
		db.allows.put(t, id, struct{}{})
	}
	return nil
}

// Audits returns what operators did, oldest first.
func (db *DB) Audits() []Audit {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return append([]Audit(nil), db.audits...)
}
