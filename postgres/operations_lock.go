package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// locking is the statement that locks operations and their records, and what it
// found.
type locking struct {
	store *Store
	query string
	args  []any // beside the clock's
	some  bool  // what a newer version wrote is left for it, and what cannot be read is unread

	seen        // the moment
	since int64 // the transaction
	now   time.Time
	all   []operation.Seen

	unread []error
	aside  []int64 // theirs
}

func (s *Store) locking(query string, args ...any) *locking {
	return &locking{store: s, query: s.sql.text(query), args: args}
}

// statement begins anew.
func (l *locking) statement() statement {
	l.seen, l.since, l.now, l.all, l.unread, l.aside = seen{}, 0, time.Time{}, nil, nil, nil
	return statement{l.query, append([]any{l.store.stamp()}, l.args...)}
}

// read reads one row; where nothing was found there is one of the moment alone.
func (l *locking) read(row scanner) error {
	var moment, whole []byte
	var now int64
	var lost *int64
	var o storedOperation
	if err := row.Scan(append(o.dest([]any{&moment, &l.since, &now}), &whole, &lost)...); err != nil {
		return err
	}
	if l.now.IsZero() {
		if err := l.moment(moment); err != nil {
			return err
		}
		l.now = time.UnixMicro(now).UTC()
	}
	if o.ref == nil {
		return nil
	}
	found := operation.Seen{Now: l.now, LostUntil: timeAt(lost)}
	var err error
	if found.Operation, err = o.decode(); err == nil && whole != nil {
		found.Record, err = recordOf(whole)
	}
	switch {
	case l.some && errors.Is(err, record.ErrNewerFormat):
	case l.some && errors.Is(err, record.RecordUnreadable):
		l.aside = append(l.aside, *o.seq)
		l.unread = append(l.unread, fmt.Errorf("postgres: operation %s: %w", found.Operation.Ref, err))
	case err != nil:
		return err
	default:
		l.all = append(l.all, found)
	}
	return nil
}

// recordOf decodes the record that waits.
func recordOf(whole []byte) (*record.Record, error) {
	r, err := split(whole)
	if err != nil {
		return nil, err
	}
	return r.decode(r.identity())
}

// putAside moves what cannot be read out of the way.
func (l *locking) putAside() ([]statement, error) {
	if len(l.aside) == 0 {
		return nil, nil
	}
	seqs, err := rowsOf(l.aside)
	return []statement{{l.store.sql.text(asideText), []any{seqs, l.now.Add(operation.Aside).UnixMicro()}}}, err
}

// behind looks for the operations that those of a partition wait for. It looks
// once their rows are locked: whoever passes such a head later waits for them, and
// makes the next one due after us.
func (s *Store) behind(ctx context.Context, run runner, provider string, all []operation.Seen) error {
	partitions := make(map[string][]*operation.Seen)
	var names []string
	for i := range all {
		name := all[i].Operation.Partition
		if name != "" && partitions[name] == nil {
			names = append(names, name)
		}
		partitions[name] = append(partitions[name], &all[i])
	}
	if len(names) == 0 {
		return nil
	}
	asked, err := rowsOf(names)
	if err != nil {
		return err
	}
	return each(ctx, run, func(row scanner) error {
		var name string
		var head, due int64
		if err := row.Scan(&name, &head, &due); err != nil {
			return err
		}
		for _, seen := range partitions[name] {
			if seen.Operation.Seq > head {
				seen.Behind = time.UnixMicro(due).UTC()
			}
		}
		return nil
	}, s.sql.text(headsText), provider, asked)
}
