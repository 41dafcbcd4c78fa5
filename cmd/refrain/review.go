package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

func (m *Main) review() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "review",
		Short: "See and settle requests that were refused as possible late retries",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(m.reviewList(), m.reviewAllow(), m.reviewDone())
	return cmd
}

func (m *Main) reviewList() *cobra.Command {
	var q upkeep.ReviewQuery
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List refused late retries",
		Long: `list prints one line for each identity that was refused: its id, how often and
when. No key is shown.`,
		Args: noArguments(databaseHint),
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := m.named()
			if err != nil {
				return err
			}
			if q.Limit < 1 || q.Limit > 1000 {
				return misused("from 1 to 1000", "--limit is %d", q.Limit)
			}
			if q.After != "" && !reviewID.MatchString(q.After) {
				return misused("give an id as refrain review list shows it", "--after: %q is not the id of a review", q.After)
			}
			return m.with(cmd.Context(), at, func(db engine.Database) error {
				found, err := db.Reviews(cmd.Context(), q)
				if err != nil {
					return err
				}
				if m.json {
					return printJSON(m.Stdout, reviewsOf(found))
				}
				return m.printReviews(found)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Scope, "scope", "", "only this `scope`")
	flags.StringVar(&q.Operation, "operation", "", "only the operation with this `id`")
	flags.StringVar(&q.After, "after", "", "only those behind this `id`")
	flags.IntVar(&q.Limit, "limit", 100, "at most this `number`, up to 1000")
	return cmd
}

// reviewID is what [upkeep.Review.ID] makes.
var reviewID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// late is a refused late retry in a list. No key and no payload is shown.
type late struct {
	ID        string    `json:"id"`
	Operation string    `json:"operation"`
	Scope     string    `json:"scope"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
	Count     int       `json:"count"`
}

func reviewsOf(found []upkeep.Review) []late {
	list := make([]late, 0, len(found))
	for _, r := range found {
		list = append(list, late{r.ID(), r.Identity.Operation, r.Identity.Scope, r.First.UTC(), r.Last.UTC(), r.Count})
	}
	return list
}

func (m *Main) printReviews(found []upkeep.Review) error {
	for _, r := range reviewsOf(found) {
		_, err := fmt.Fprintf(m.Stdout, "%s  %s  %s  first %s  last %s  %d times\n", r.ID, r.Operation, oneLine(r.Scope), shown(r.First), shown(r.Last), r.Count)
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *Main) reviewAllow() *cobra.Command {
	var s signature
	cmd := &cobra.Command{
		Use:   "allow ID --reason TEXT --by NAME",
		Short: "Let the identity of a refused request execute once",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.settle(cmd.Context(), s, args[0], "allowed", func(db engine.Database) error {
				return upkeep.Allow(cmd.Context(), db, args[0], s.by, s.reason)
			})
		},
	}
	s.add(cmd)
	return cmd
}

func (m *Main) reviewDone() *cobra.Command {
	var s signature
	var effect string
	cmd := &cobra.Command{
		Use:   "done ID --effect REFERENCE --reason TEXT --by NAME",
		Short: "Record that the action was done before, and where that can be seen",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.settle(cmd.Context(), s, args[0], "done", func(db engine.Database) error {
				return upkeep.Done(cmd.Context(), db, args[0], effect, s.by, s.reason)
			})
		},
	}
	cmd.Flags().StringVar(&effect, "effect", "", "`reference` of the effect, where the outcome can be seen")
	s.add(cmd)
	return cmd
}

func (m *Main) settle(ctx context.Context, s signature, id, word string, act func(engine.Database) error) error {
	return m.acted(ctx, s, func(db engine.Database) error {
		err := act(db)
		switch {
		case errors.Is(err, record.ErrNotFound):
			return differs("refrain review list shows the ids", "nothing with the id %q is under review", id)
		case errors.Is(err, upkeep.ErrReviewed):
			return differs("its identity has a record or an allow by now", "%w", err)
		case err != nil:
			return err
		}
		if m.json {
			return printJSON(m.Stdout, map[string]string{"id": id, "settled": word})
		}
		_, err = fmt.Fprintf(m.Stdout, "%s %s\n", word, id)
		return err
	})
}
