package postgres

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// storedOperation is a row as it is read; everything is NULL where an outer join
// has no operation.
type storedOperation struct {
	ref, action, step, provider, partition, data, input, xid []byte
	seq, version, state, due, created, final, format         *int64
	disputed                                                 *bool
}

func (r *storedOperation) dest(dest []any) []any {
	return append(dest, &r.ref, &r.seq, &r.version, &r.action, &r.step, &r.provider, &r.partition, &r.state, &r.disputed,
		&r.due, &r.created, &r.final, &r.format, &r.data, &r.input, &r.xid)
}

func (r *storedOperation) decode() (operation.Operation, error) {
	o := operation.Operation{
		Ref: unpackRef(r.ref), Seq: *r.seq, Version: *r.version,
		Step: string(r.step), Provider: string(r.provider), Partition: string(r.partition), Input: r.input,
		State: record.State(*r.state), Disputed: *r.disputed,
		Due: timeAt(r.due), Created: timeAt(r.created), Final: timeAt(r.final),
	}
	if *r.format > operation.Format {
		return o, fmt.Errorf("postgres: operation %s: format %d: %w", o.Ref, *r.format, record.ErrNewerFormat)
	}
	if r.action != nil {
		o.Action = unpackRef(r.action)
	}
	err := operation.DecodeText(r.data, &o)
	if err == nil && (o.State < record.Accepted || o.State > record.Rejected) {
		err = fmt.Errorf("operation %s: state %d", o.Ref, *r.state)
	}
	if err != nil {
		return o, fmt.Errorf("postgres: %w: %w", record.RecordUnreadable, err)
	}
	return o, nil
}

// addArgs are those of addText.
func (s *Store) addArgs(o operation.Operation) ([]any, error) {
	if !record.ValidRef(o.Ref) || o.Action != "" && !record.ValidRef(o.Action) {
		return nil, fmt.Errorf("postgres: an operation with a malformed ref")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	data, err := operation.EncodeText(o)
	if err != nil {
		return nil, err
	}
	input := o.Input
	if input == nil {
		input = []byte{} // which is not NULL
	}
	return []any{packRef(o.Ref), orNull(packRef(o.Action)), o.Step, o.Provider, o.Partition,
		int64(operation.Format), int64(record.Accepted), string(data), input, s.stamp()}, nil
}

// stamp is the clock's time where the options have one; NULL stands for the
// server's.
func (s *Store) stamp() any {
	if s.opts.Now == nil {
		return nil
	}
	return s.opts.Now().UnixMicro()
}

// putRow and mirrorRow are what putText and mirrorText read.
type (
	putRow struct {
		Seq      int64  `json:"seq"`
		Version  int64  `json:"version"` // the one that was seen
		Format   int    `json:"format"`
		State    int64  `json:"state"`
		Disputed bool   `json:"disputed"`
		Due      *int64 `json:"due"`
		Final    *int64 `json:"final"`
		Data     string `json:"data"`
	}
	mirrorRow struct {
		Ref      string `json:"ref"`
		Version  int64  `json:"version"`
		Format   int    `json:"format"`
		State    int64  `json:"state"`
		Disputed bool   `json:"disputed"`
		Lease    *int64 `json:"lease"`
	}
)

func rowOf(o operation.Operation, seen int64) (putRow, error) {
	data, err := operation.EncodeText(o)
	return putRow{o.Seq, seen, operation.Format, int64(o.State), o.Disputed, orNothing(o.Due), orNothing(o.Final), string(data)}, err
}

func mirrorOf(rec *record.Record, seen int64) mirrorRow {
	return mirrorRow{hex.EncodeToString(packRef(rec.Ref)), seen, record.Format, int64(rec.State), rec.Disputed, orNothing(rec.Lease)}
}

// timeAt is a time as it is stored; NULL is the zero one.
func timeAt(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return time.UnixMicro(*micros).UTC()
}

func orNothing(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixMicro()
	return &n
}

// rowsOf is the one argument by which a statement gets many rows.
func rowsOf(rows any) (string, error) {
	b, err := json.Marshal(rows)
	return string(b), err
}

// operationsFound are what was read in one statement.
type operationsFound struct {
	seen
	all    []operation.Operation
	unread []error
}

// whole is the error of whoever needs all that was found.
func (f operationsFound) whole(err error) error {
	if err != nil {
		return err
	}
	return errors.Join(f.unread...)
}

// operationsLike reads operations in no transaction. What is told of them has
// been confirmed.
func (s *Store) operationsLike(ctx context.Context, query string, args ...any) (operationsFound, error) {
	soon, cancel := s.opts.soon(ctx)
	defer cancel()
	var f operationsFound
	err := each(soon, s.read, func(row scanner) error {
		var moment []byte
		var r storedOperation
		if err := row.Scan(r.dest([]any{&moment})...); err != nil {
			return err
		}
		if err := f.moment(moment); err != nil {
			return err
		}
		f.xid = max(f.xid, binary.BigEndian.Uint64(r.xid))
		if o, err := r.decode(); err != nil {
			f.unread = append(f.unread, fmt.Errorf("postgres: operation %s: %w", o.Ref, err))
		} else {
			f.all = append(f.all, o)
		}
		return nil
	}, s.sql.text(query), args...)
	if err = unheard(soon, err); err == nil && len(f.all)+len(f.unread) > 0 && s.acknowledge != nil {
		f.Record = new(record.Record) // what was seen; the transaction is what counts
		err = s.acknowledge(ctx, f.seen)
	}
	if err != nil {
		return operationsFound{}, migrated(err)
	}
	return f, nil
}
