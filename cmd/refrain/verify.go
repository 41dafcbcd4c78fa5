package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/archive"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

func (m *Main) verify() *cobra.Command {
	var effects string
	var archives []string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every record, and what stands beside them, against what must hold",
		Long: `verify reads the whole database and changes nothing. It exits with 1 where
something does not hold.

--effects is a query of the application's that is given an effect reference and
finds its row: it selects when that was made, in microseconds since 1970, or NULL
where nobody knows. The reference is written ?, once.`,
		Example: `  refrain verify --db sqlite:shop.db --effects "SELECT created FROM orders WHERE '/v1/orders/' || id = ?"`,
		Args:    noArguments(databaseHint),
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := m.named()
			if err != nil {
				return err
			}
			return m.with(cmd.Context(), at, func(db engine.Database) error {
				v := upkeep.Verify{Store: db}
				if effects != "" {
					var err error
					if v.Effect, err = effectQuery(cmd.Context(), db, effects); err != nil {
						return err
					}
				}
				if len(archives) > 0 {
					v.Forgotten = m.forgotten(archives)
				}
				return m.runVerify(cmd.Context(), v, at)
			})
		},
	}
	cmd.Flags().StringVar(&effects, "effects", "", "a `query` that finds what an effect reference names")
	cmd.Flags().StringArrayVar(&archives, "archive", nil, "a `file` of refrain archive: the horizons must cover what is in it; may be repeated")
	return cmd
}

// forgotten are archived records. What a killed writer has cut off is no fault: it
// forgot nothing of that.
func (m *Main) forgotten(files []string) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		for rec, err := range archive.Read(files...) {
			if errors.Is(err, archive.ErrCutOff) {
				fmt.Fprintf(m.Stderr, "refrain: %s\n", oneLine(err.Error()))
				continue
			}
			if err != nil {
				err = unusable("restore the file from a copy", "%w", err)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// effectQuery asks the application's tables for an effect. What fails while the
// database answers is the query's fault, which is told before all is read.
func effectQuery(ctx context.Context, db engine.Database, query string) (func(context.Context, record.Record) (time.Time, bool, error), error) {
	query = db.SQL(query)
	told := func(ctx context.Context, err error) error {
		if err == nil || ctx.Err() != nil || engine.Helps(err) != "" || db.Reader().PingContext(ctx) != nil {
			return err
		}
		return misused("refrain verify --help says what the query is given and selects", "--effects: %w", err)
	}
	statement, err := db.Reader().PrepareContext(ctx, query)
	if err != nil {
		return nil, told(ctx, err)
	}
	return func(ctx context.Context, rec record.Record) (at time.Time, found bool, err error) {
		var micros sql.NullInt64
		err = db.Reader().QueryRowContext(ctx, query, rec.Result.Effect).Scan(&micros)
		if errors.Is(err, sql.ErrNoRows) {
			return time.Time{}, false, nil
		}
		if micros.Valid {
			at = time.UnixMicro(micros.Int64)
		}
		return at, err == nil, told(ctx, err)
	}, statement.Close()
}

func (m *Main) runVerify(ctx context.Context, v upkeep.Verify, at engine.Place) error {
	done, err := v.Run(ctx)
	if err != nil {
		return err
	}
	faults := 0
	for i, c := range done.Checks {
		faults += c.Faults
		if c.First == nil {
			done.Checks[i].First = []string{}
		}
	}
	if m.json {
		if err := printJSON(m.Stdout, done); err != nil {
			return err
		}
	} else if err := m.printVerified(done); err != nil {
		return err
	}
	if faults > 0 {
		return differs("each line that is not ok says what does not hold", "%d faults in %s", faults, at)
	}
	return nil
}

func (m *Main) printVerified(done upkeep.Verified) error {
	for _, c := range done.Checks {
		mark := "ok    "
		if c.Faults > 0 {
			mark = "NOT OK"
		}
		if _, err := fmt.Fprintf(m.Stdout, "%s  %-12s %8d  %s\n", mark, c.Check, c.Looked, c.Holds); err != nil {
			return err
		}
		for _, f := range c.First {
			fmt.Fprintf(m.Stdout, "        %s\n", oneLine(f))
		}
		if more := c.Faults - len(c.First); more > 0 {
			fmt.Fprintf(m.Stdout, "        and %d more\n", more)
		}
	}
	_, err := fmt.Fprintf(m.Stdout, "%d records\n", done.Records)
	return err
}
