package mysql

import (
	"context"
	"fmt"
	"sort"

	"github.com/refrain-dev/refrain/upkeep"
)

// archive hands the records that are to be forgotten to whoever keeps them, as they
// stand now, and returns the rows of those. A record that cannot be read in full
// stays.
func (b *reaping) archive(ctx context.Context, rows []reapRow) (kept []reapRow, err error) {
	if b.ask.Archive == nil {
		return rows, nil
	}
	for len(rows) > 0 {
		part := rows[:min(pageRows, len(rows))]
		p, err := readPage(ctx, b.tx, `r.n IN (`+marks(len(part))+`)`, pageRows, numbersOf(part)...)
		if err != nil {
			return nil, err
		}
		if p.next != "" {
			part = part[:sort.Search(len(part), func(i int) bool { return part[i].Ref > p.next })]
		}
		rows = rows[len(part):]
		if len(p.records) > 0 {
			if err := b.ask.Archive(ctx, p.records); err != nil {
				return nil, fmt.Errorf("mysql: the archive: %w", err)
			}
		}
		kept = append(kept, b.archived(part, p)...)
	}
	return kept, nil
}

// archived are the rows of part that the page had unchanged.
func (b *reaping) archived(part []reapRow, p page) (kept []reapRow) {
	versions := make(map[string]int64)
	for _, rec := range p.records {
		versions[rec.Ref] = rec.Version
	}
	for _, r := range part {
		_, unreadable := p.unreadable[r.Ref]
		switch {
		case versions[r.Ref] == r.Version:
			kept = append(kept, r)
		case unreadable:
			b.done.Unfinished++
			b.stays(upkeep.Idle(b.now))
		default:
			b.stays(b.now.Add(missed))
		}
	}
	return kept
}
