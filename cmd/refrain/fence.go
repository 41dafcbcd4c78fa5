package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

func (m *Main) fence() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fence",
		Short: "Say that records may have been lost, so that late retries do not run again",
		Long: `A fence stands after a restore: what was recorded until a time may be lost. A
request whose key was born until then, or whose key has no time, and that is not
found is refused and kept for review instead of being run again.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(m.fenceSet(), m.fenceList(), m.fenceEnd(), m.fenceVoid())
	return cmd
}

// signature is who does something, and why.
type signature struct{ by, reason string }

func (s *signature) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.reason, "reason", "", "`text` for the audit")
	cmd.Flags().StringVar(&s.by, "by", "", "`name` for the audit")
}

func (s signature) check() error {
	if err := upkeep.Signed(s.by, s.reason); err != nil {
		return misused("add --reason TEXT and --by NAME; they go into the audit", "%w", err)
	}
	return nil
}

// acted opens the database for something that is audited.
func (m *Main) acted(ctx context.Context, s signature, act func(engine.Database) error) (err error) {
	at, err := m.named()
	if err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	return m.with(ctx, at, act)
}

func (m *Main) with(ctx context.Context, at engine.Place, act func(engine.Database) error) (err error) {
	db, err := openCurrent(ctx, at, brief)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	return act(db)
}

func (m *Main) fenceSet() *cobra.Command {
	var f upkeep.Fence
	var s signature
	var until, since string
	cmd := &cobra.Command{
		Use:   "set --scope SCOPE|all --until TIME --reason TEXT --by NAME",
		Short: "Fence what may have been lost until a time",
		Long: `set stores a fence. --until is when the lost database was last written to, or
later, but never later than now: that would refuse new keys. --since is when the
backup was made; it is shown and exempts nothing, because a key that is older may
have come first after it.`,
		Args: noArguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Scope == "" || until == "" {
				return misused(`add --scope all, or one such as tenant=north, and --until`, "--scope and --until are needed")
			}
			if f.Scope == "all" {
				f.Scope = ""
			}
			f.By, f.Reason = s.by, s.reason
			return m.acted(cmd.Context(), s, func(db engine.Database) error { return m.setFence(cmd.Context(), db, f, until, since) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Scope, "scope", "", "the `scope` as ops list shows it, or all")
	flags.StringVar(&f.Operation, "operation", "", "only the operation with this `id`")
	flags.StringVar(&until, "until", "", "a `time`, RFC 3339, or now")
	flags.StringVar(&since, "since", "", "a `time`, RFC 3339: when the backup was made")
	s.add(cmd)
	return cmd
}

func (m *Main) setFence(ctx context.Context, db engine.Database, f upkeep.Fence, until, since string) (err error) {
	if f.Until, err = moment(ctx, db, "--until", until); err != nil {
		return err
	}
	if since != "" {
		if f.Since, err = moment(ctx, db, "--since", since); err != nil {
			return err
		}
	}
	f.ID, err = db.SetFence(ctx, f)
	if errors.Is(err, upkeep.ErrFence) {
		return misused("refrain fence set --help says what a fence needs", "%w", err)
	}
	if err != nil {
		return err
	}
	if m.json {
		return printJSON(m.Stdout, map[string]int64{"id": f.ID})
	}
	_, err = fmt.Fprintf(m.Stdout, "fence %d stands until %s; refrain review list shows what it refuses\n", f.ID, shown(f.Until))
	return err
}

func (m *Main) fenceList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List fences, oldest first",
		Args:  noArguments(databaseHint),
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := m.named()
			if err != nil {
				return err
			}
			return m.with(cmd.Context(), at, func(db engine.Database) error { return m.listFences(cmd.Context(), db) })
		},
	}
}

func (m *Main) listFences(ctx context.Context, db engine.Database) error {
	fences, err := db.Fences(ctx)
	if err != nil {
		return err
	}
	if m.json {
		return printJSON(m.Stdout, append([]upkeep.Fence{}, fences...))
	}
	for _, f := range fences {
		state := "stands"
		if !f.Ended.IsZero() {
			state = "ended " + shown(f.Ended)
		}
		_, err := fmt.Fprintf(m.Stdout, "%d  until %s  %s  %s  %s  by %s: %s\n", f.ID, shown(f.Until), orAll(f.Operation), oneLine(orAll(f.Scope)), state, oneLine(f.By), oneLine(f.Reason))
		if err != nil {
			return err
		}
	}
	return nil
}

func orAll(name string) string {
	if name == "" {
		return "all"
	}
	return name
}

func (m *Main) fenceEnd() *cobra.Command {
	return m.fenceAct("end", "Let keys without a time run again", `end stops only the handling of keys without a time: those that were born until
the fence's time and are not found stay refused for ever.`,
		func(ctx context.Context, db engine.Database, id int64, s signature) error {
			if err := db.EndFence(ctx, id, s.by, s.reason); err != nil {
				return err
			}
			return m.say("ended", id)
		})
}

func (m *Main) fenceVoid() *cobra.Command {
	return m.fenceAct("void", "Remove a fence that was a mistake", `void removes a fence and lists what is under review that it may have caused: those
clients were told not to retry. Their keys run again now.`,
		func(ctx context.Context, db engine.Database, id int64, s signature) error {
			caused, err := causedBy(ctx, db, id)
			if err != nil {
				return err
			}
			if err := db.VoidFence(ctx, id, s.by, s.reason); err != nil {
				return err
			}
			if m.json {
				return printJSON(m.Stdout, map[string]any{"id": id, "caused": reviewsOf(caused)})
			}
			if err := m.say("removed", id); err != nil {
				return err
			}
			return m.printReviews(caused)
		})
}

func (m *Main) say(what string, id int64) error {
	if m.json {
		return printJSON(m.Stdout, map[string]int64{"id": id})
	}
	_, err := fmt.Fprintf(m.Stdout, "%s fence %d\n", what, id)
	return err
}

func (m *Main) fenceAct(use, short, long string, act func(context.Context, engine.Database, int64, signature) error) *cobra.Command {
	var s signature
	cmd := &cobra.Command{
		Use: use + " ID --reason TEXT --by NAME", Short: short, Long: long,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return misused("refrain fence list shows the ids", "%q is not the id of a fence", args[0])
			}
			return m.acted(cmd.Context(), s, func(db engine.Database) error {
				err := act(cmd.Context(), db, id, s)
				if errors.Is(err, record.ErrNotFound) {
					return differs("refrain fence list shows those that stand", "no fence %d stands", id)
				}
				return err
			})
		},
	}
	s.add(cmd)
	return cmd
}

// causedBy are the reviews that the fence may have caused.
func causedBy(ctx context.Context, db engine.Database, id int64) (caused []upkeep.Review, err error) {
	fences, err := db.Fences(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range fences {
		if f.ID != id {
			continue
		}
		q := upkeep.ReviewQuery{Scope: f.Scope, Operation: f.Operation, Limit: 1000}
		for {
			page, err := db.Reviews(ctx, q)
			if err != nil {
				return nil, err
			}
			for _, r := range page {
				if f.Caused(r) {
					caused = append(caused, r)
				}
			}
			if len(page) < q.Limit {
				return caused, nil
			}
			q.After = page[len(page)-1].ID()
		}
	}
	return nil, record.ErrNotFound
}
