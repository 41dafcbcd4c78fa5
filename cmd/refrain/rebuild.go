package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

func (m *Main) rebuild() *cobra.Command {
	var s signature
	var rows string
	cmd := &cobra.Command{
		Use:   "rebuild --rows FILE --reason TEXT --by NAME",
		Short: "Make tombstones for business rows whose records were lost",
		Long: `rebuild reads one JSON object on each line, made from the application's own rows:

  {"scope":"tenant=north","operation":"orders.create","key":"…","effect":"/orders/1","at":"2026-01-31T12:00:00Z"}

and makes a tombstone for each that has no record: a repeat is told that the
action was done, and where, instead of doing it again. It may be run again.`,
		Args: noArguments("the file is --rows FILE"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rows == "" {
				return misused("add --rows FILE, or - for the standard input", "no file is named")
			}
			return m.acted(cmd.Context(), s, func(db engine.Database) error { return m.runRebuild(cmd.Context(), db, rows, s) })
		},
	}
	cmd.Flags().StringVar(&rows, "rows", "", "`file` with the rows; - is the standard input")
	s.add(cmd)
	return cmd
}

func (m *Main) runRebuild(ctx context.Context, db engine.Database, rows string, s signature) error {
	from := os.Stdin
	if rows != "-" {
		f, err := os.Open(rows)
		if err != nil {
			return misused("name a file that can be read", "%w", err)
		}
		defer f.Close()
		from = f
	}
	done, err := upkeep.Rebuild(ctx, db, lostRows(from), s.by, s.reason)
	if errors.Is(err, upkeep.ErrLost) {
		return misused("mend the row; the file may be given again as a whole", "%d tombstones were made: %w", done.Made, err)
	}
	if err != nil {
		return fmt.Errorf("%d tombstones were made: %w", done.Made, err)
	}
	if m.json {
		return printJSON(m.Stdout, done)
	}
	_, err = fmt.Fprintf(m.Stdout, "rebuilt %d of %d rows; %d had a record, %d would be forgotten by now\n", done.Made, done.Looked, done.Known, done.Past)
	return err
}

// lostRow is a business row as the application writes it.
type lostRow struct {
	Scope     string    `json:"scope"`
	Operation string    `json:"operation"`
	Key       string    `json:"key"`
	Effect    string    `json:"effect"`
	At        time.Time `json:"at"`
}

// longestRow bounds a line of the file.
const longestRow = 64 << 10

func lostRows(from io.Reader) iter.Seq2[upkeep.Lost, error] {
	return func(yield func(upkeep.Lost, error) bool) {
		lines := bufio.NewScanner(from)
		lines.Buffer(nil, longestRow)
		for lines.Scan() {
			row, err := readRow(lines.Bytes())
			if err != nil {
				yield(upkeep.Lost{}, errors.New("it is not the JSON of a row: scope, operation, key, effect and at")) // err quotes keys
				return
			}
			if !yield(upkeep.Lost{Identity: record.Identity{Scope: row.Scope, Operation: row.Operation, Key: row.Key}, Effect: row.Effect, At: row.At}, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(upkeep.Lost{}, err)
		}
	}
}

// readRow reads one row. A member it does not know may be a misspelt one that would
// be missing.
func readRow(text []byte) (row lostRow, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&row); err != nil {
		return row, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return row, errors.New("something stands behind it")
	}
	return row, nil
}
