package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

func (m *Main) once() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "once",
		Short: "See what rules without an end hold, and give a value free",
		Long: `A rule of Once is no receipt: it answers nothing and never ends. A value stays
taken until somebody gives it free here.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(m.onceList(), m.onceRemove())
	return cmd
}

func (m *Main) onceList() *cobra.Command {
	var q upkeep.OnceQuery
	cmd := &cobra.Command{
		Use:   "list --rule RULE",
		Short: "List the values that a rule holds",
		Args:  noArguments("the rule is --rule RULE"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := m.named()
			switch {
			case err != nil:
				return err
			case q.Rule == "":
				return misused("add --rule", "no rule is named")
			case q.Limit < 1 || q.Limit > 1000:
				return misused("from 1 to 1000", "--limit is %d", q.Limit)
			}
			return m.with(cmd.Context(), at, func(db engine.Database) error {
				held, err := db.Onces(cmd.Context(), q)
				if err != nil {
					return err
				}
				if m.json {
					return printJSON(m.Stdout, append([]upkeep.Once{}, held...))
				}
				for _, o := range held {
					if _, err := fmt.Fprintf(m.Stdout, "%s  %s  %s\n", shown(o.At), orDash(o.Ref), oneLine(o.Value)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Rule, "rule", "", "the `rule`")
	flags.StringVar(&q.After, "after", "", "only values behind this `value`")
	flags.IntVar(&q.Limit, "limit", 100, "at most this `number`, up to 1000")
	return cmd
}

func (m *Main) onceRemove() *cobra.Command {
	var s signature
	var rule, value string
	cmd := &cobra.Command{
		Use:   "remove --rule RULE --value VALUE --reason TEXT --by NAME",
		Short: "Give a value of a rule free",
		Args:  noArguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rule == "" || value == "" {
				return misused("add --rule and --value", "no value is named")
			}
			return m.acted(cmd.Context(), s, func(db engine.Database) error {
				err := db.RemoveOnce(cmd.Context(), rule, value, s.by, s.reason)
				if errors.Is(err, record.ErrNotFound) {
					return differs("refrain once list --rule RULE shows what it holds", "the rule %q does not hold this value", rule)
				}
				if err != nil {
					return err
				}
				if m.json {
					return printJSON(m.Stdout, map[string]string{"rule": rule})
				}
				_, err = fmt.Fprintf(m.Stdout, "the rule %s holds the value no longer\n", oneLine(rule))
				return err
			})
		},
	}
	cmd.Flags().StringVar(&rule, "rule", "", "the `rule`")
	cmd.Flags().StringVar(&value, "value", "", "the `value`")
	s.add(cmd)
	return cmd
}

func orDash(ref string) string {
	if ref == "" {
		return "-"
	}
	return ref
}
