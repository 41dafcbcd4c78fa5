package postgres

import (
	"context"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

const (
	// moveAllowText keeps one allow where two become one.
	moveAllowText = `WITH old AS (DELETE FROM {schema}.allow WHERE hash = $1::uuid RETURNING *)
INSERT INTO {schema}.allow (hash, scope, operation, key, reason, by, at)
SELECT $2::uuid, $3::text, $4::text, key, reason, by, at FROM old
ON CONFLICT (hash) DO UPDATE SET operation = excluded.operation`

	// moveReviewText adds up the counts where two reviews become one.
	moveReviewText = `WITH old AS (DELETE FROM {schema}.review WHERE hash = $1::uuid RETURNING *)
INSERT INTO {schema}.review AS r (hash, scope, operation, key, raw, deciding, rule, schema, first, last, count)
SELECT $2::uuid, $3::text, $4::text, key, raw, deciding, rule, schema, first, last, count FROM old
ON CONFLICT (hash) DO UPDATE SET first = least(r.first, excluded.first), last = greatest(r.last, excluded.last), count = r.count + excluded.count`
)

// moveBeside moves the rows that stand beside identities, one by one: they are
// few.
func (s *Store) moveBeside(ctx context.Context, tx runner, r upkeep.Rekey, to *upkeep.Move, table, text string) (moved int, err error) {
	type row struct {
		id   record.Identity
		hash [16]byte
	}
	var all []row
	err = each(ctx, tx, func(sc scanner) error {
		var hash, key []byte
		id := record.Identity{Operation: r.Operation}
		err := sc.Scan(&hash, &id.Scope, &key)
		if err == nil {
			id.Key = string(key)
			all = append(all, row{id, [16]byte(hash)})
		}
		return err
	}, s.sql.text(`SELECT uuid_send(hash), scope, key FROM {schema}.`+table+` WHERE operation = $1::text ORDER BY hash FOR UPDATE`), r.Operation)
	if err != nil {
		return 0, err
	}
	for _, b := range all {
		scope, err := to.Scope(b.id.Scope)
		if err != nil {
			return 0, err
		}
		next := record.Identity{Scope: scope, Operation: r.To, Key: b.id.Key}.Hash()
		if next == b.hash {
			continue
		}
		n, err := tx.exec(ctx, s.sql.text(text), hashText(b.hash), hashText(next), scope, r.To)
		if err := one(n, err, record.ErrSwapped); err != nil {
			return 0, err
		}
		moved++
	}
	return moved, nil
}

const (
	fencesText    = `SELECT id, operation, scope FROM {schema}.fence WHERE operation = $1::text OR operation = '' AND scope <> '' ORDER BY id FOR UPDATE`
	moveFenceText = `UPDATE {schema}.fence SET operation = $1::text, scope = $2::text WHERE id = $3::int8`
	joinFenceText = `INSERT INTO {schema}.fence (operation, scope, until, since, reason, by, at, ended)
SELECT $1::text, $2::text, until, since, reason, by, at, ended FROM {schema}.fence WHERE id = $3::int8`
)

// moveFences lets every fence cover what it covered. One for all operations
// stays and is joined by one for the moved identities.
func (s *Store) moveFences(ctx context.Context, tx runner, r upkeep.Rekey, to *upkeep.Move) (moved int, err error) {
	type fence struct {
		id               int64
		operation, scope string
	}
	var all []fence
	err = each(ctx, tx, func(row scanner) error {
		var f fence
		err := row.Scan(&f.id, &f.operation, &f.scope)
		all = append(all, f)
		return err
	}, s.sql.text(fencesText), r.Operation)
	if err != nil {
		return 0, err
	}
	for _, f := range all {
		scope, text := f.scope, moveFenceText
		if next, err := to.Rewritten(f.scope); scope != "" && err == nil { // else it covers none of these records
			scope = next
		}
		if f.operation == "" {
			if scope == f.scope {
				continue
			}
			text = joinFenceText
		}
		if _, err := tx.exec(ctx, s.sql.text(text), r.To, scope, f.id); err != nil {
			return 0, err
		}
		moved++
	}
	return moved, nil
}
