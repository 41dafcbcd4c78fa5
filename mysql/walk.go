package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

const (
	// pageRows is how many records one statement reads with their results.
	pageRows = 64
	// pageBytes is where a page ends early.
	pageBytes = 16 << 20
)

// Walk implements [upkeep.Retention]. A page ends early when its results have
// 16 MiB.
func (db *DB) Walk(ctx context.Context, after string, limit int) (w upkeep.Walked, err error) {
	from := encodeRef(after)
	switch {
	case after == "":
		from = []byte{}
	case from == nil:
		return w, fmt.Errorf("mysql: Walk: %w", errRef)
	}
	if limit <= 0 {
		limit = 100
	}
	left := min(limit, 1000)
	w.Unreadable = make(map[string]error)
	err = db.reading(ctx, func(ctx context.Context, q runner) error {
		for bytes := int64(0); left > 0 && bytes < pageBytes; {
			p, err := readPage(ctx, q, `r.ref > ?`, min(left, pageRows), from)
			if err != nil {
				return err
			}
			for ref, why := range p.unreadable {
				w.Unreadable[ref] = why
			}
			w.Records, w.Next = append(w.Records, p.records...), p.next
			if p.next == "" {
				return nil
			}
			from, left, bytes = encodeRef(p.next), left-p.looked, bytes+p.bytes
		}
		return nil
	})
	if err != nil {
		return upkeep.Walked{}, err
	}
	return w, nil
}

// page is a run of records in the order of their refs.
type page struct {
	records    []record.Record
	unreadable map[string]error
	looked     int
	bytes      int64
	next       string // the last one looked at; "" when there are no more
}

const pageSQL = `SELECT ` + columns + `, r.body, r.hash FROM refrain_record r FORCE INDEX (refrain_record_ref) WHERE `

// readPage reads at most limit records that where holds for, with their results.
func readPage(ctx context.Context, q runner, where string, limit int, args ...any) (p page, err error) {
	rows, err := q.QueryContext(ctx, pageSQL+where+` ORDER BY r.ref LIMIT ?`, append(args, limit)...)
	if err != nil {
		return p, err
	}
	defer rows.Close()
	p.unreadable = make(map[string]error)
	for p.bytes < pageBytes && rows.Next() {
		if p.next, err = p.read(rows); err != nil {
			return p, err
		}
		p.looked++
	}
	if p.looked < limit && p.bytes < pageBytes {
		p.next = ""
	}
	return p, errors.Join(rows.Err(), rows.Close())
}

func (p *page) read(rows *sql.Rows) (ref string, err error) {
	r, err := scanAny(rows, bodyColumn+2)
	if err != nil {
		return "", err
	}
	if ref, err = decodeRef(r.blob(0)); err != nil {
		return "", fmt.Errorf("%w: %w", record.RecordUnreadable, err)
	}
	rec, err := decodeAt(r, true)
	if hash := rec.Identity.Hash(); err == nil && string(hash[:]) != r.text(bodyColumn+1) {
		err = errors.New("it is not where its identity belongs")
	}
	if err != nil {
		if !errors.Is(err, record.RecordUnreadable) {
			err = fmt.Errorf("%w: %w", record.RecordUnreadable, err)
		}
		p.unreadable[ref] = err
		return ref, nil
	}
	p.bytes += textSize(&rec)
	p.records = append(p.records, rec)
	return ref, nil
}
