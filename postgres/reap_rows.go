package postgres

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// settledText is what a reaper may touch: $1 and $2 are the final states, $3 is
// the newest format. The operations of an action are looked up row by row: a
// subquery under EXISTS could read them all.
const settledText = `(r.state IN ($1::int8, $2::int8) AND NOT r.disputed AND r.format <= $3::int8
 AND (SELECT true FROM {schema}.external e WHERE e.action = r.ref AND (e.final IS NULL OR e.disputed) LIMIT 1) IS NULL)`

const spanRowsText = `SELECT r.ref, r.version, uuid_send(r.hash), r.scope, r.operation, r.key, ` + settledText + `,
 coalesce(octet_length(r.digest), 0) = 0, r.created, r.replay_until, r.remember_until
FROM {schema}.record r WHERE r.ref > $4::bytea AND r.ref <= $5::bytea ORDER BY r.ref LIMIT $6::int8`

// mineText locks those of the rows that are as they were; nobody is waited for.
const mineText = `SELECT r.ref, r.version, coalesce(octet_length(r.body), 0)::int8 FROM {schema}.record r
WHERE r.ref = ANY (CAST($4::text AS bytea[])) AND ` + settledText + ` ORDER BY r.ref FOR UPDATE OF r SKIP LOCKED`

const (
	raiseText  = `UPDATE {schema}.operation SET horizon = $2::int8 WHERE operation = $1::text AND (horizon IS NULL OR horizon < $2::int8)`
	forgetText = `DELETE FROM {schema}.record WHERE ref = ANY (CAST($1::text AS bytea[]))`
	trimText   = `UPDATE {schema}.record SET digest = $2::bytea, header = NULL, body = NULL WHERE ref = ANY (CAST($1::text AS bytea[]))`
	wholesText = `SELECT ` + wholeText + ` FROM {schema}.record r WHERE r.ref = ANY (CAST($1::text AS bytea[])) ORDER BY r.ref`
)

func settledArgs(more ...any) []any {
	return append([]any{int64(record.Confirmed), int64(record.Rejected), int64(record.Format)}, more...)
}

// rows reads the span's, one more than the batch looks at where there are more.
func (b *batch) rows(ctx context.Context, w *span) (rows []upkeep.Row, err error) {
	err = each(ctx, b.tx, func(row scanner) error {
		var ref, hash, key []byte
		var created int64
		var replay, remember *int64
		var r upkeep.Row
		if err := row.Scan(&ref, &r.Version, &hash, &r.Identity.Scope, &r.Identity.Operation, &key, &r.Settled, &r.Kept,
			&created, &replay, &remember); err != nil {
			return err
		}
		r.Ref, r.Identity.Key = unpackRef(ref), string(key)
		r.Created, r.ReplayUntil, r.RememberUntil = time.UnixMicro(created).UTC(), instant(replay), instant(remember)
		want := r.Identity.Hash()
		r.Settled = r.Settled && slices.Equal(hash, want[:]) && replay != nil && remember != nil
		rows = append(rows, r)
		return nil
	}, b.store.sql.text(spanRowsText), settledArgs(w.after, w.last, int64(b.reap.Limit)+1)...)
	return rows, err
}

// own locks those of the rows that are as they were read, and tells how long their
// bodies are.
func (b *batch) own(ctx context.Context, rows []upkeep.Row) (mine []upkeep.Row, sizes []int64, err error) {
	if len(rows) == 0 {
		return nil, nil, nil
	}
	read := make(map[string]upkeep.Row, len(rows))
	for _, r := range rows {
		read[r.Ref] = r
	}
	err = each(ctx, b.tx, func(row scanner) error {
		var ref []byte
		var version, size int64
		err := row.Scan(&ref, &version, &size)
		if r := read[unpackRef(ref)]; err == nil && r.Version == version {
			mine, sizes = append(mine, r), append(sizes, size)
		}
		return err
	}, b.store.sql.text(mineText), settledArgs(refsText(rows))...)
	return mine, sizes, err
}

// forget removes the rows whose memory has ended, horizon first.
func (b *batch) forget(ctx context.Context, rows []upkeep.Row) (int, error) {
	rows, births, err := b.horizoned(ctx, rows)
	if err != nil {
		return 0, err
	}
	rows, sizes, err := b.own(ctx, rows)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	if b.archive != nil {
		if err := b.archived(ctx, rows, sizes); err != nil {
			return 0, err
		}
	}
	raised := make(map[string]time.Time)
	for _, r := range rows {
		if born := births[r.Ref]; born.After(raised[r.Identity.Operation]) {
			raised[r.Identity.Operation] = born
		}
	}
	for _, operation := range slices.Sorted(maps.Keys(raised)) {
		if err := b.exec(ctx, raiseText, operation, raised[operation].UnixMicro()); err != nil {
			return 0, err
		}
	}
	return b.all(ctx, rows, forgetText, refsText(rows))
}

// trim takes the results of the rows whose replay has ended. Their version stays:
// nobody's compare-and-swap is to fail by it, and neither does the transaction
// that wrote the answer change.
func (b *batch) trim(ctx context.Context, rows []upkeep.Row) (int, error) {
	rows, _, err := b.own(ctx, rows)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return b.all(ctx, rows, trimText, refsText(rows), record.Trimmed)
}

// all demands that a statement changed every one of the rows, which are locked.
func (b *batch) all(ctx context.Context, rows []upkeep.Row, query string, args ...any) (int, error) {
	n, err := b.tx.exec(ctx, b.store.sql.text(query), args...)
	if err == nil && int(n) != len(rows) {
		err = fmt.Errorf("%w: %d rows instead of %d", errRace, n, len(rows))
	}
	return int(n), err
}

// archivePage is how many bytes of bodies are read at once.
const archivePage = 16 << 20

// archived gives the archive what is about to be forgotten; more than once where
// the bodies are too large to be in memory together.
func (b *batch) archived(ctx context.Context, rows []upkeep.Row, sizes []int64) error {
	for len(rows) > 0 {
		n, size := 1, sizes[0]
		for n < len(rows) && size+sizes[n] <= archivePage {
			size += sizes[n]
			n++
		}
		page, err := b.store.wholes(ctx, b.tx, rows[:n])
		if err != nil {
			return err
		}
		if err := b.archive(ctx, page); err != nil {
			return err
		}
		rows, sizes = rows[n:], sizes[n:]
	}
	return nil
}

func (s *Store) wholes(ctx context.Context, tx runner, rows []upkeep.Row) (recs []record.Record, err error) {
	err = each(ctx, tx, func(row scanner) error {
		var whole []byte
		if err := row.Scan(&whole); err != nil {
			return err
		}
		rec, err := decodeWhole(whole)
		if err == nil {
			recs = append(recs, *rec)
		}
		return err
	}, s.sql.text(wholesText), refsText(rows))
	return recs, err
}

// horizoned are the rows that can be forgotten, and by their refs the births of
// those that have one, read as the operation's contract reads it. A timed key whose operation
// the store does not know would seem new, and one whose time has not come would
// raise the horizon over every key that is made until then.
func (b *batch) horizoned(ctx context.Context, rows []upkeep.Row) (kept []upkeep.Row, births map[string]time.Time, err error) {
	births = make(map[string]time.Time)
	rules := make(map[string]birthRule)
	for _, r := range rows {
		id := r.Identity
		rule, asked := rules[id.Operation]
		if !asked {
			if rule, err = b.store.birthRule(ctx, b.tx, id.Operation); err != nil {
				return nil, nil, err
			}
			rules[id.Operation] = rule
		}
		born, timed := rule.keyTime.Birth(id.Key)
		if timed && (!rule.known || born.After(b.done.Now)) {
			b.left++
			continue
		}
		kept = append(kept, r)
		if timed {
			births[r.Ref] = born
		}
	}
	b.done.Unfinished += b.left
	return kept, births, nil
}

// birthRule is how an operation's keys are read, and whether there is a place for
// its horizon.
type birthRule struct {
	keyTime record.KeyTime
	known   bool
}

func (s *Store) birthRule(ctx context.Context, tx runner, operation string) (birthRule, error) {
	kept, err := s.operation(ctx, tx, operation, "")
	known := !errors.Is(err, sql.ErrNoRows)
	if !known {
		err = nil
	}
	return birthRule{upkeep.KeyTime([]byte(kept.contract)), known}, err
}

// refsText is the refs of rows as the text of a bytea[].
func refsText(rows []upkeep.Row) string {
	var b strings.Builder
	b.Grow(2 + len(rows)*(2*refSize+6))
	b.WriteByte('{')
	for i, r := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"\\x` + hex.EncodeToString(packRef(r.Ref)) + `"`)
	}
	b.WriteByte('}')
	return b.String()
}
