package mysql

import (
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// decodeOperation decodes a row of operationColumns.
func decodeOperation(r anyRow) (operation.Operation, error) {
	ref, err := decodeRef(r.blob(0))
	o := operation.Operation{
		Ref: ref, Seq: r.integer(1), Version: r.integer(2),
		Step: r.text(4), Provider: r.text(5), Partition: r.text(6), Input: r.blob(14),
		State: record.State(r.integer(7)), Disputed: r.integer(8) != 0,
		Due: r.instant(9), Created: r.instant(10), Final: r.instant(11),
	}
	if format := r.integer(12); format > operation.Format {
		return o, fmt.Errorf("mysql: operation %s: format %d: %w", ref, format, record.ErrNewerFormat)
	}
	if err == nil && !r.null(3) {
		o.Action, err = decodeRef(r.blob(3))
	}
	if err == nil {
		err = operation.DecodeText(r.blob(13), &o)
	}
	if err == nil && (o.State < record.Accepted || o.State > record.Rejected) {
		err = fmt.Errorf("operation %s: state %d", ref, r.integer(7))
	}
	if err != nil {
		return o, fmt.Errorf("mysql: %w: %w", record.RecordUnreadable, err)
	}
	return o, nil
}

// addArgs are those of addSQL. What a column cannot hold is refused: without a
// strict sql_mode the server would cut it.
func (db *DB) addArgs(o operation.Operation) ([]any, error) {
	ref, action := encodeRef(o.Ref), encodeRef(o.Action)
	if ref == nil || o.Action != "" && action == nil {
		return nil, errors.New("mysql: an operation with a malformed ref")
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
	now := db.stamp()
	return []any{ref, orNull(action), []byte(o.Step), []byte(o.Provider), []byte(o.Partition), orNull([]byte(o.Partition)),
		int64(operation.Format), int64(record.Accepted), data, input, now, now}, nil
}

// stamp is the clock's time where the options have one; NULL stands for the
// server's.
func (db *DB) stamp() any {
	if db.opts.Now == nil {
		return nil
	}
	return db.opts.Now().UnixMicro()
}

// putArgs are those of putSQL.
func putArgs(o operation.Operation, seen int64) ([]any, error) {
	data, err := operation.EncodeText(o)
	var line any
	if blocks(o) {
		line = []byte(o.Partition)
	}
	return []any{o.Version, int64(operation.Format), int64(o.State), o.Disputed, micros(o.Due), line, micros(o.Final), data, o.Seq, seen}, err
}

// blocks reports an operation that later ones of its partition wait for.
func blocks(o operation.Operation) bool {
	return o.Partition != "" && !o.State.Final() && !o.Due.IsZero()
}

// replaceArgs are those of replaceSQL.
func replaceArgs(rec *record.Record, seen int64) ([]any, error) {
	evidence, err := record.EncodeEvidence(rec.Evidence)
	if err != nil {
		return nil, err
	}
	if err := lengths(rec); err != nil {
		return nil, err
	}
	hash, result := rec.Identity.Hash(), rec.Result
	return []any{rec.Version, int64(rec.Format), int64(rec.State), rec.Disputed, []byte(rec.Actor),
		rec.Print.Raw[:], rec.Print.Deciding[:], []byte(rec.Print.Rule), []byte(rec.Print.Schema),
		micros(rec.Created), micros(rec.Final), micros(rec.ReplayUntil), micros(rec.RememberUntil),
		int64(rec.Attempt), rec.Fence, micros(rec.Lease), orNull(evidence), int64(result.Status), []byte(result.Effect),
		orNull(result.Digest), orNull(record.EncodeHeader(result.Header)), orNull(result.Body), hash[:], encodeRef(rec.Ref), seen}, nil
}
