package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// walkText chooses the page by the sizes of the bodies before it reads one. A row
// is read by a subquery, so that its index is.
const walkText = `WITH page AS (SELECT p.ref, sum(p.size) OVER (ORDER BY p.ref) - p.size AS before, count(*) OVER () AS n
 FROM (SELECT r.ref, coalesce(octet_length(r.body), 0)::int8 AS size FROM {schema}.record r WHERE r.ref > $1::bytea ORDER BY r.ref LIMIT $2::int8) p)
SELECT p.ref, p.n, (SELECT ` + wholeText + ` FROM {schema}.record r WHERE r.ref = p.ref) FROM page p WHERE p.before < $3::int8 ORDER BY p.ref`

// walkPage is how many bytes of bodies a page of Walk has, and one body more.
const walkPage = 16 << 20

// Walk implements [upkeep.Retention]. A page ends early where its bodies have more
// than 16 MiB.
func (s *Store) Walk(ctx context.Context, after string, limit int) (upkeep.Walked, error) {
	from := []byte{} // which is not NULL
	if after != "" {
		if from = packRef(after); from == nil {
			return upkeep.Walked{}, fmt.Errorf("%w: %q", errRef, after)
		}
	}
	var w upkeep.Walked
	var rows, found int64
	var last []byte
	err := each(ctx, s.read, func(row scanner) error {
		var whole []byte
		if err := row.Scan(&last, &found, &whole); err != nil {
			return err
		}
		rows++
		rec, err := decodeWhole(whole)
		if err != nil {
			if w.Unreadable == nil {
				w.Unreadable = make(map[string]error)
			}
			w.Unreadable[unpackRef(last)] = fmt.Errorf("%w: %w", record.RecordUnreadable, err)
			return nil
		}
		w.Records = append(w.Records, *rec)
		return nil
	}, s.sql.text(walkText), from, capped(limit), int64(walkPage))
	if err != nil {
		return upkeep.Walked{}, migrated(err)
	}
	if rows < found || found == capped(limit) {
		w.Next = unpackRef(last)
	}
	return w, nil
}

// decodeWhole makes the record of a row that is where its identity belongs.
func decodeWhole(whole []byte) (*record.Record, error) {
	r, err := split(whole)
	if err != nil {
		return nil, err
	}
	id := r.identity()
	if hash := id.Hash(); !slices.Equal(r[colHash], hash[:]) {
		return nil, fmt.Errorf("%w: it is not where its identity belongs", record.RecordUnreadable)
	}
	return r.decode(id)
}
