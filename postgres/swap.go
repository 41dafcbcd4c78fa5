package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain/record"
)

var (
	errSwapKeeps = errors.New("postgres: Swap keeps ref and identity")
	errRef       = errors.New("postgres: the record's ref is malformed")
)

// Swap is the compare-and-swap of [record.Store].
func (s *Store) Swap(ctx context.Context, old, next record.Record) (record.Record, error) {
	if old.Ref != "" && (old.Ref != next.Ref || old.Identity != next.Identity) {
		return record.Record{}, errSwapKeeps
	}
	next.Version, next.Format = old.Version+1, record.Format
	hash := next.Identity.Hash()
	err := s.write(ctx, func(ctx context.Context, tx runner) error {
		if old.Ref != "" {
			return s.put(ctx, tx, &next, hash, seen{Seen: record.Seen{Record: &old}}, record.ErrSwapped)
		}
		found, err := scanLookup(tx.row(ctx, s.sql.read, lookupArgs(next.Identity, hash)...), next.Identity)
		if err == nil && found.Record != nil {
			err = record.ErrSwapped
		}
		if err != nil {
			return err
		}
		return s.put(ctx, tx, &next, hash, found, nil)
	})
	if err != nil {
		return record.Record{}, migrated(err)
	}
	return next, nil
}

// put writes rec in place of the record that was seen: exactly this version of
// it, or the error is gone.
func (s *Store) put(ctx context.Context, tx runner, rec *record.Record, hash [16]byte, found seen, gone error) error {
	if !record.ValidRef(rec.Ref) {
		return fmt.Errorf("%w: %q", errRef, rec.Ref)
	}
	args, err := recordArgs(rec, hash)
	if err != nil {
		return err
	}
	if old := found.Record; old != nil {
		n, err := tx.exec(ctx, s.sql.update, append(args, packRef(old.Ref), old.Version)...)
		return one(n, err, gone)
	}
	var identity any
	if found.IdentityVersion != "" {
		identity = found.IdentityVersion
	}
	_, err = tx.exec(ctx, s.sql.insert[0], append(args, found.began, identity)...)
	return lostRace(err)
}
