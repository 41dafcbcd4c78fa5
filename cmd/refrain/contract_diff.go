package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/contracts"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
)

func (m *Main) contractDiff() *cobra.Command {
	var agreed bool
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say what a change of contracts does to clients and records",
		Long: `diff compares contracts per operation. OLD and NEW are each a file with a
published contract, a list of them or a service's document, the address of a
service, or a database, as --db names it. Each change is compatible, incompatible, or
needs somebody who agrees, which --yes says. Exit 1 if one is left that is not.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.runContractDiff(cmd.Context(), args[0], args[1], agreed)
		},
	}
	cmd.Flags().BoolVar(&agreed, "yes", false, "agree to what needs somebody who agrees")
	return cmd
}

func (m *Main) runContractDiff(ctx context.Context, from, to string, agreed bool) error {
	older, err := m.contractsOf(ctx, from)
	if err != nil {
		return err
	}
	newer, err := m.contractsOf(ctx, to)
	if err != nil {
		return err
	}
	changes := contracts.Compare(older, newer)
	if err := m.printChanges(changes); err != nil {
		return err
	}
	count := counted(changes)
	switch {
	case count[contracts.Incompatible] > 0:
		return differs("each change that is not compatible says the way out", "%d incompatible changes", count[contracts.Incompatible])
	case count[contracts.NeedsYes] > 0 && !agreed:
		return differs("if all of them are meant: --yes", "%d changes need somebody who agrees", count[contracts.NeedsYes])
	}
	return nil
}

func counted(changes []contracts.Change) map[contracts.Class]int {
	count := make(map[contracts.Class]int)
	for _, c := range changes {
		count[c.Class]++
	}
	return count
}

// contractsOf reads contracts from a file, a service or a database.
func (m *Main) contractsOf(ctx context.Context, source string) ([]contracts.Published, error) {
	var text []byte
	var err error
	switch {
	case strings.HasPrefix(source, "http://"), strings.HasPrefix(source, "https://"):
		text, err = fetch(ctx, source)
	case engine.Names(source):
		var at engine.Place
		if at, err = engine.Parse("the database", source); err == nil {
			source = at.String()
			text, err = registered(ctx, at)
		}
	default:
		text, err = readFile(source)
	}
	if err != nil {
		return nil, err
	}
	list, err := contracts.Parse(text)
	if err != nil {
		return nil, misused("give a published contract, a list of them, or what a service publishes", "%s has no contracts: %w", source, err)
	}
	return list, nil
}

func readFile(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, misused("name a file that can be read", "%w", err)
	}
	return text, nil
}

func (m *Main) printChanges(changes []contracts.Change) error {
	if m.json {
		if changes == nil {
			changes = []contracts.Change{}
		}
		count := counted(changes)
		return printJSON(m.Stdout, map[string]any{
			"changes": changes, "incompatible": count[contracts.Incompatible], "needs_yes": count[contracts.NeedsYes],
		})
	}
	for _, c := range changes {
		_, err := fmt.Fprintf(m.Stdout, "%-12s  %s %s: %s to %s\n              why: %s\n",
			c.Class, c.Operation, c.Member, orNothing(c.From), orNothing(c.To), c.Why)
		if err == nil && c.WayOut != "" {
			_, err = fmt.Fprintf(m.Stdout, "              way out: %s\n", c.WayOut)
		}
		if err != nil {
			return err
		}
	}
	if len(changes) == 0 {
		_, err := fmt.Fprintln(m.Stdout, "no difference")
		return err
	}
	return nil
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return oneLine(s)
}
