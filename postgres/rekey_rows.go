package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// rekeyBatch is how many records one statement moves.
const rekeyBatch = 5000

// move is a record of a rekey with its new identity.
type move struct {
	ref      [18]byte
	old, new [16]byte
	scope    string // shared by the records of one scope
}

const planText = `SELECT r.ref, uuid_send(r.hash), r.format, r.scope, r.key, r.state = $2::int8 AND coalesce(r.lease, 0) > $3::int8
FROM {schema}.record r WHERE r.operation = $1::text ORDER BY r.ref`

// plan reads every record of the operation and refuses what must not move.
func (s *Store) plan(ctx context.Context, tx runner, r upkeep.Rekey, to *upkeep.Move, now time.Time) ([]move, error) {
	var moves []move
	var refused upkeep.RekeyError
	at := make(map[[16]byte]int) // new hash → index in moves
	err := each(ctx, tx, func(row scanner) error {
		var ref, hash, key []byte
		var format int64
		var live bool
		id := record.Identity{Operation: r.Operation}
		if err := row.Scan(&ref, &hash, &format, &id.Scope, &key, &live); err != nil {
			return err
		}
		id.Key = string(key)
		want := id.Hash()
		if !slices.Equal(hash, want[:]) || len(ref) != len(move{}.ref) {
			return fmt.Errorf("%w: %s is not where its identity belongs", record.RecordUnreadable, unpackRef(ref))
		}
		if format > record.Format {
			return fmt.Errorf("%w: %s", record.ErrNewerFormat, unpackRef(ref))
		}
		if live {
			refused.Live = append(refused.Live, unpackRef(ref))
		}
		scope, err := to.Scope(id.Scope)
		if err != nil {
			return err
		}
		next := move{ref: [18]byte(ref), old: want, scope: scope,
			new: record.Identity{Scope: scope, Operation: r.To, Key: id.Key}.Hash()}
		if other, taken := at[next.new]; taken {
			refused.Collisions = append(refused.Collisions, [2]string{unpackRef(moves[other].ref[:]), unpackRef(ref)})
		}
		at[next.new] = len(moves)
		moves = append(moves, next)
		return nil
	}, s.sql.text(planText), r.Operation, int64(record.Submitted), now.UnixMicro())
	if err != nil {
		return nil, err
	}
	if r.To != r.Operation {
		if err := s.collide(ctx, tx, moves, &refused); err != nil {
			return nil, err
		}
	}
	if len(refused.Live)+len(refused.Collisions) > 0 {
		return nil, &refused
	}
	return moves, nil
}

// batched are the moves as JSON, piece by piece.
func batched(moves []move, use func(batch string, n int) error) error {
	type row struct {
		Old   string `json:"o"`
		New   string `json:"n"`
		Scope string `json:"s"`
	}
	for batch := range slices.Chunk(moves, rekeyBatch) {
		rows := make([]row, len(batch))
		for i, m := range batch {
			rows[i] = row{hashText(m.old), hashText(m.new), m.scope}
		}
		text, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		if err := use(string(text), len(batch)); err != nil {
			return err
		}
	}
	return nil
}

const batchText = `json_to_recordset($1::text::json) AS m (o uuid, n uuid, s text)`

const collideText = `SELECT r.ref, old.ref FROM ` + batchText + `
JOIN {schema}.record r ON r.hash = m.n JOIN {schema}.record old ON old.hash = m.o ORDER BY old.ref`

// collide names the pairs of a moved record and one that the new operation has
// already.
func (s *Store) collide(ctx context.Context, tx runner, moves []move, e *upkeep.RekeyError) error {
	return batched(moves, func(batch string, _ int) error {
		return each(ctx, tx, func(row scanner) error {
			var other, ref []byte
			err := row.Scan(&other, &ref)
			e.Collisions = append(e.Collisions, [2]string{unpackRef(other), unpackRef(ref)})
			return err
		}, s.sql.text(collideText), batch)
	})
}

const moveText = `UPDATE {schema}.record r SET hash = m.n, scope = m.s, operation = $2::text, identity = '', version = r.version + 1, xid = pg_current_xact_id()
FROM ` + batchText + ` WHERE r.hash = m.o`

// moveRecords gives the records their new identities. A new version ends what
// anybody planned with the old one.
func (s *Store) moveRecords(ctx context.Context, tx runner, moves []move, operation string) (int, error) {
	err := batched(moves, func(batch string, want int) error {
		n, err := tx.exec(ctx, s.sql.text(moveText), batch, operation)
		if err == nil && int(n) != want {
			err = fmt.Errorf("%w: %d records moved instead of %d", record.ErrSwapped, n, want)
		}
		return err
	})
	return len(moves), err
}
