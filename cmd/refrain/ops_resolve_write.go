package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// decision is a resolution and what it is written with.
type decision struct {
	resolution
	result record.Result
	policy record.Policy
}

// write decides about the action, together with the external operation it waits
// for, if there is one. refused is why the action cannot be decided; err is that,
// or the database's.
func (d decision) write(ctx context.Context, db engine.Database, id record.Identity) (edit record.Edit, refused, err error) {
	all, err := db.Operations().Of(ctx, d.ref)
	if err != nil {
		return edit, nil, err
	}
	waits := slices.IndexFunc(all, func(o operation.Operation) bool { return !o.State.Final() })
	if waits < 0 {
		waits = slices.IndexFunc(all, func(o operation.Operation) bool { return o.Disputed })
	}
	if waits < 0 {
		err = db.Change(ctx, id, func(seen record.Seen, now time.Time) (record.Edit, error) {
			edit, refused = d.about(seen.Record, now)
			return edit, refused
		})
		return edit, refused, err
	}
	err = db.Operations().Change(ctx, all[waits].Ref, func(_ context.Context, _ refrain.SQLTx, seen operation.Seen) (operation.Edit, error) {
		var both operation.Edit
		if edit, refused = d.about(seen.Record, seen.Now); refused == nil {
			both, refused = d.with(seen, edit)
		}
		return both, refused
	})
	return edit, refused, err
}

// about is the decision about the action's record as it is seen.
func (d decision) about(rec *record.Record, now time.Time) (record.Edit, error) {
	if rec != nil && rec.Ref != d.ref { // forgotten and begun anew meanwhile
		rec = nil
	}
	seen := record.Seen{Record: rec}
	if past := record.Expire(seen, now).Put; past != nil { // as it is listed
		seen.Record = past
	}
	return record.Resolve(seen, now, d.result, d.policy, d.by, d.reason)
}

// with is the decision about both. An operation that is not settled becomes due:
// its service finds the record decided and adopts that.
func (d decision) with(seen operation.Seen, edit record.Edit) (operation.Edit, error) {
	next := seen.Operation
	if next.State.Final() {
		end := operation.Confirmed
		if d.result.Rejected {
			end = operation.Refused
		}
		var err error
		if next, err = next.Decide(seen.Now, operation.Reply{End: end, Reference: d.result.Effect, Note: d.reason}); err != nil {
			return operation.Edit{}, err
		}
	} else {
		next.Due = record.Micro(seen.Now)
	}
	return operation.Edit{Put: &next, Record: edit.Put, By: edit.By, Action: edit.Action, Reason: edit.Reason, Detail: edit.Detail}, nil
}

// notAction ends a resolution whose ref is no action's.
func notAction(ctx context.Context, db engine.Database, ref string) error {
	o, _, err := db.Operations().Load(ctx, ref)
	switch {
	case errors.Is(err, record.ErrNotFound):
		return notFound(ref, err)
	case err != nil:
		return err
	case o.Action != "":
		return differs("run it with "+o.Action, "%s is an external operation of the action %s, which is what is resolved", ref, o.Action)
	}
	return differs("external.Runner has Decide, Withdraw and Resume for it", "%s is an external operation that no action waits for: its service decides", ref)
}
