package sqlite

import (
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Operations returns the store of external operations in this database.
func (db *DB) Operations() operation.Store[Tx] { return operations{db} }

type operations struct{ db *DB }

// Woken implements [operation.Store]: SQLite tells no other process.
func (operations) Woken() <-chan struct{} { return nil }

// operationColumns in the order decodeOperation reads them; briefColumns leave the
// input where it is.
const (
	columnsBefore = `e.seq, e.ref, e.version, e.action, e.step, e.provider, e.partition, e.state, e.disputed,
 e.due, e.created, e.final, e.format, e.data`
	operationColumns = columnsBefore + `, e.input`
	briefColumns     = columnsBefore + `, NULL`
)

// operationEnd is the column behind them.
const operationEnd = 15

// decodeOperation reads the operation whose columns come first in r. What cannot
// be decoded is never taken for no operation.
func decodeOperation(r row) (operation.Operation, error) {
	o := operation.Operation{
		Seq: r.integer(0), Ref: r.text(1), Version: r.integer(2), Action: r.text(3), Step: r.text(4),
		Provider: r.text(5), Partition: r.text(6), Disputed: r.integer(8) != 0,
		Due: instant(r, 9), Created: instant(r, 10), Final: instant(r, 11), Input: r.blob(14),
	}
	if format := r.integer(12); format > operation.Format {
		return o, fmt.Errorf("sqlite: operation %s: %w: format %d", o.Ref, record.ErrNewerFormat, format)
	}
	state := r.integer(7)
	err := operation.DecodeText(r.blob(13), &o)
	if err == nil && (state < int64(record.Accepted) || state > int64(record.Rejected)) {
		err = fmt.Errorf("operation %s: state %d", o.Ref, state)
	}
	if err == nil && !record.ValidRef(o.Ref) {
		err = errors.New("an operation has a malformed ref")
	}
	if err != nil {
		return o, fmt.Errorf("%w: %w", record.RecordUnreadable, err)
	}
	o.State = record.State(state)
	return o, nil
}
