package mysql

import (
	"context"
	"errors"
	"strings"

	"github.com/refrain-dev/refrain/record"
)

// statement is one of the engine's own, with its arguments. It changes one row;
// an optional one may find none.
type statement struct {
	query    string
	args     []any
	optional bool
}

// size is what the arguments have that may be long.
func (st statement) size() (n int) {
	for _, a := range st.args {
		if b, ok := a.([]byte); ok {
			n += len(b)
		}
	}
	return n
}

// askAtOnce sends texts and asks as one text of several statements, which ends at
// its first error.
func (e *editing) askAtOnce(ctx context.Context, texts []string, asks []ask) error {
	var args []any
	for _, a := range asks {
		texts, args = append(texts, a.query), append(args, a.args...)
	}
	rows, err := e.q.QueryContext(ctx, strings.Join(texts, ";"), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for i, a := range asks {
		if i > 0 && !rows.NextResultSet() {
			break // its error is told below
		}
		for rows.Next() {
			r, err := scanAny(rows, a.columns)
			if err == nil {
				err = a.row(r)
			}
			if err != nil {
				return err
			}
		}
	}
	for rows.NextResultSet() {
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return rows.Close()
}

// textBytes is how much is sent as one text.
const textBytes = 1 << 20

// send writes the statements and commits. First it makes sure that the
// transaction is still the one that was begun: outside of it all of this would
// commit alone.
func (e *editing) send(ctx context.Context, statements []statement) error {
	texts := []string{"RELEASE SAVEPOINT " + e.db.marker, "SAVEPOINT " + e.db.marker}
	if e.guard == nil {
		return e.sendEach(ctx, texts, statements)
	}
	var args []any
	bytes := 0
	flush := func() error {
		if len(texts) == 0 {
			return nil
		}
		_, err := e.q.ExecContext(ctx, strings.Join(texts, ";"), args...)
		texts, args, bytes = nil, nil, 0
		return conditional(err)
	}
	for _, st := range statements {
		n := st.size()
		if n > most || bytes+n > textBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		if n > most {
			if err := e.sendLong(ctx, st); err != nil {
				return err
			}
			continue
		}
		texts, args, bytes = append(texts, st.query), append(args, st.args...), bytes+n
	}
	texts = append(texts, e.texts().commit)
	return flush()
}

// sendEach takes a round trip for each statement.
func (e *editing) sendEach(ctx context.Context, texts []string, statements []statement) error {
	for _, text := range texts {
		if err := e.exec(ctx, text); err != nil {
			return err
		}
	}
	for _, st := range statements {
		run := e.q.ExecContext
		if st.size() > most {
			run = e.conn.ExecContext
		}
		if err := one(run(ctx, st.query, st.args...)); err != nil && !(st.optional && errors.Is(err, record.ErrSwapped)) {
			return faster(err)
		}
	}
	_, err := e.q.ExecContext(ctx, commitSQL)
	return err
}

// sendLong sends a statement apart from its arguments, which so may be as long as
// the server takes.
func (e *editing) sendLong(ctx context.Context, st statement) error {
	prepared, err := e.conn.PrepareContext(ctx, st.query)
	if err != nil {
		return err
	}
	defer prepared.Close()
	_, err = prepared.ExecContext(ctx, st.args...)
	return err
}
