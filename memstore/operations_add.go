package memstore

import (
	"cmp"
	"context"
	"errors"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Add implements [operation.Store]. The transaction stays usable after
// [operation.ErrAccepted].
func (s operations) Add(ctx context.Context, tx Tx, o operation.Operation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if tx.h.t.db != s.db {
		return errors.New("memstore: the transaction is of another store")
	}
	if err := o.Validate(); err != nil {
		return err
	}
	var failed error
	err := tx.statement("external", func(t *transaction) { failed = t.add(o) })
	return cmp.Or(err, failed)
}

func (t *transaction) add(o operation.Operation) error {
	db, of := t.db, step{o.Action, o.Step}
	if _, taken := db.steps.get(of, true); taken && o.Action != "" {
		return operation.ErrAccepted
	}
	if _, taken := db.externals.get(o.Ref, true); taken {
		return errors.New("memstore: the operation's ref is another one's")
	}
	now := record.Micro(db.options.Now())
	db.seq++
	o.Seq, o.Version, o.State, o.Created, o.Due = db.seq, 1, record.Accepted, now, now
	row, err := keep(o)
	if err != nil {
		return err
	}
	t.writes++
	db.externals.put(t, o.Ref, row)
	if o.Action != "" {
		db.steps.put(t, of, o.Ref)
	}
	return nil
}
