package postgres

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// How often a change asks for an identity that somebody else is changing or
// executing; meanwhile it holds nothing.
const (
	changeFirst = 2 * time.Millisecond
	changeMost  = 100 * time.Millisecond
)

// Change implements [record.Store]. The identity's advisory lock keeps executions
// and other changes out; what was seen is compared once more when it is replaced.
func (s *Store) Change(ctx context.Context, id record.Identity, decide func(record.Seen, time.Time) (record.Edit, error)) error {
	until := time.Now().Add(s.opts.Busy)
	ctx, cancel := s.opts.soon(ctx)
	defer cancel()
	hash := id.Hash()
	for attempt := 0; ; attempt++ {
		err := s.write(ctx, func(ctx context.Context, tx runner) error {
			found, err := scanLookup(tx.row(ctx, s.sql.lookup, lookupArgs(id, hash)...), id)
			if err != nil {
				return err
			}
			if !found.locked {
				return errBusy
			}
			// Its view is older than the lock: whoever gave the lock back may have
			// committed between the two.
			if found, err = scanLookup(tx.row(ctx, s.sql.read, lookupArgs(id, hash)...), id); err != nil {
				return err
			}
			now := s.time(found.now)
			edit, err := decide(found.Seen, now)
			if err != nil {
				return err
			}
			return s.apply(ctx, tx, id, hash, found, edit, now)
		})
		switch {
		case !errors.Is(err, errBusy):
			return unheard(ctx, migrated(err))
		case !pause(ctx, until, attempt):
			return err
		}
	}
}

// pause waits before a busy identity is asked for again; false when the time or
// ctx is over.
func pause(ctx context.Context, until time.Time, attempt int) bool {
	left := time.Until(until)
	if left <= 0 {
		return false
	}
	t := time.NewTimer(min(record.Backoff(changeFirst, changeMost, attempt), left))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// apply writes the edit. Whatever it writes, a rekey is kept out from then on and
// has not been there since the lookup.
func (s *Store) apply(ctx context.Context, tx runner, id record.Identity, hash [16]byte, found seen, edit record.Edit, now time.Time) error {
	if edit.Register != nil && !found.known {
		st, err := s.sql.learns(edit.Register)
		if err != nil {
			return err
		}
		if _, err := tx.exec(ctx, st.sql, st.args...); err != nil {
			return err
		}
		found.IdentityVersion = edit.Register.IdentityVersion
	}
	if err := s.edit(ctx, tx, id, hash, found, edit); err != nil {
		return err
	}
	if edit.Review != nil {
		if err := s.review(ctx, tx, edit.Review, now); err != nil {
			return err
		}
	}
	if edit.Reviewed {
		if _, err := tx.exec(ctx, s.sql.text(reviewedText), hashText(hash), id.Scope, id.Operation, []byte(id.Key)); err != nil {
			return err
		}
	}
	if edit.SpendAllow {
		n, err := tx.exec(ctx, s.sql.text(spendText), hashText(hash), id.Scope, id.Operation, []byte(id.Key))
		if err := one(n, err, errRace); err != nil {
			return err
		}
	}
	if edit.GrantAllow != "" {
		_, err := tx.exec(ctx, s.sql.text(grantText), hashText(hash), id.Scope, id.Operation, []byte(id.Key), edit.GrantAllow, now.UnixMicro())
		if err != nil {
			return err
		}
	}
	if edit.By == "" {
		return nil
	}
	return s.audit(ctx, tx, now, edit.By, edit.Action, edit.Subject(found.Seen), edit.Reason, edit.Detail)
}

// edit writes or removes the record.
func (s *Store) edit(ctx context.Context, tx runner, id record.Identity, hash [16]byte, found seen, edit record.Edit) error {
	switch rec := edit.Put; {
	case rec != nil:
		rec.Version, rec.Format = 1, record.Format
		if found.Record != nil && found.Record.Ref == rec.Ref {
			rec.Version = found.Record.Version + 1
		}
		return s.put(ctx, tx, rec, hash, found, errRace)
	case edit.Remove && found.Record != nil:
		n, err := tx.exec(ctx, s.sql.remove, hashText(hash), packRef(found.Record.Ref), found.Record.Version)
		return one(n, err, errRace)
	case edit.Review != nil || edit.Reviewed || edit.SpendAllow || edit.GrantAllow != "":
		return s.stay(ctx, tx, id.Operation, found)
	}
	return nil
}

// stay keeps a rekey out where no record is written, and makes sure that none has
// been there since the lookup.
func (s *Store) stay(ctx context.Context, tx runner, operation string, found seen) error {
	if _, err := tx.exec(ctx, s.sql.text(lockRecordsText)); err != nil {
		return err
	}
	kept, err := s.operation(ctx, tx, operation, "")
	switch {
	case errors.Is(err, sql.ErrNoRows) && found.IdentityVersion == "":
		return nil
	case err == nil && kept.identity != found.IdentityVersion, errors.Is(err, sql.ErrNoRows):
		return errRace
	}
	return err
}

// lockRecordsText is taken by whatever writes records or beside them; a rekey's
// lock keeps it out.
const lockRecordsText = `LOCK TABLE {schema}.record IN ROW EXCLUSIVE MODE`

const (
	spendText = `DELETE FROM {schema}.allow WHERE hash = $1::uuid AND scope = $2::text AND operation = $3::text AND key = $4::bytea`
	grantText = `INSERT INTO {schema}.allow (hash, scope, operation, key, reason, by, at)
VALUES ($1::uuid, $2::text, $3::text, $4::bytea, $5::text, 'refrain', $6::int8) ON CONFLICT (hash) DO NOTHING`
	auditText = `INSERT INTO {schema}.audit (at, by, action, ref, reason, detail)
VALUES ($1::int8, $2::text, $3::text, $4::text, $5::text, $6::text)`
)

func (s *Store) audit(ctx context.Context, tx runner, now time.Time, by, action, ref, reason, detail string) error {
	_, err := tx.exec(ctx, s.sql.text(auditText), now.UnixMicro(), by, action, ref, reason, detail)
	return err
}
