package sqlite

import (
	"context"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Change implements [record.Store]. It shares its transaction with other callers
// like Execute does, so decide may be asked again.
func (db *DB) Change(ctx context.Context, id record.Identity, decide func(record.Seen, time.Time) (record.Edit, error)) error {
	var refused error // waits for COMMIT too: what it is about may be a neighbour's
	err := db.write(ctx, false, func(ctx context.Context, s *session) error {
		hash := id.Hash()
		found, err := lookup(ctx, s.run, id, hash)
		if err != nil {
			return err
		}
		now := db.opts.Now()
		var edit record.Edit
		if edit, refused = decide(found.Seen, now); refused != nil {
			return nil
		}
		return apply(ctx, s.run, id, hash, found, edit, now)
	})
	if err != nil {
		return err
	}
	return refused
}

func apply(ctx context.Context, q runner, id record.Identity, hash [16]byte, found seen, edit record.Edit, now time.Time) error {
	if edit.Register != nil && !found.known {
		if err := learn(ctx, q, edit.Register); err != nil {
			return err
		}
	}
	if (edit.Put != nil || edit.Remove) && found.Record != nil {
		if err := remove(ctx, q, found.Record, hash); err != nil {
			return err
		}
	}
	if rec := edit.Put; rec != nil {
		rec.Version, rec.Format = 1, record.Format
		if found.Record != nil && found.Record.Ref == rec.Ref {
			rec.Version = found.Record.Version + 1
		}
		if err := insert(ctx, q, rec, hash); err != nil {
			return err
		}
	}
	if edit.Review != nil {
		if err := review(ctx, q, edit.Review, now); err != nil {
			return err
		}
	}
	if edit.Reviewed {
		if err := reviewed(ctx, q, id, hash); err != nil {
			return err
		}
	}
	if edit.SpendAllow {
		if err := spend(ctx, q, id, hash); err != nil {
			return err
		}
	}
	if edit.GrantAllow != "" {
		_, err := q.exec(ctx, `INSERT INTO refrain_allow (hash, scope, operation, key, reason, by, at) VALUES (?, ?, ?, ?, ?, 'refrain', ?)
			ON CONFLICT (hash) DO NOTHING`, hash[:], id.Scope, id.Operation, []byte(id.Key), edit.GrantAllow, now.UnixMicro())
		if err != nil {
			return err
		}
	}
	if edit.By == "" {
		return nil
	}
	return audit(ctx, q, now, edit.By, edit.Action, edit.Subject(found.Seen), edit.Reason, edit.Detail)
}

// audit writes one line of what an operator did.
func audit(ctx context.Context, q runner, now time.Time, by, action, ref, reason, detail string) error {
	_, err := q.exec(ctx, `INSERT INTO refrain_audit (at, by, action, ref, reason, detail) VALUES (?, ?, ?, ?, ?, ?)`,
		now.UnixMicro(), by, action, ref, reason, detail)
	return err
}
