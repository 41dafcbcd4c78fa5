package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// rekeyPatience is how long a rekey waits for the writers of a busy service.
const rekeyPatience = time.Minute

func (m *Main) contractRekey() *cobra.Command {
	var r upkeep.Rekey
	var added []string
	var agreed bool
	cmd := &cobra.Command{
		Use:   "rekey --operation OP --yes",
		Short: "Move the records of an operation to other identities",
		Long: `rekey rewrites the identity of every record of an operation, with its horizon,
fences, allows and reviews, in one transaction. While it runs, writers are told
store-unavailable; afterwards processes with the old contract execute nothing.
It refuses if two records would become one, or while an attempt is under way.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, pair := range added {
				name, value, ok := strings.Cut(pair, "=")
				if !ok || name == "" || value == "" {
					return misused("write it like --add region=eu", "--add %q is no name and value", pair)
				}
				r.Add = append(r.Add, [2]string{name, value})
			}
			return m.runContractRekey(cmd.Context(), r, agreed)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.Operation, "operation", "", "`id` of the operation")
	flags.StringVar(&r.To, "to", "", "its new `id`; by default it keeps the old one")
	flags.StringArrayVar(&added, "add", nil, "dimension every scope gains, `NAME=VALUE`; may be repeated")
	flags.StringArrayVar(&r.Drop, "drop", nil, "`name` of a dimension every scope loses; may be repeated")
	flags.StringVar(&r.Identity, "identity", "", "`dimensions` of the new contract, in order (default: what the new scopes have)")
	flags.StringVar(&r.By, "by", "refrain contract rekey", "`name` for the audit")
	flags.StringVar(&r.Reason, "reason", "the contract changed", "`text` for the audit")
	flags.BoolVar(&agreed, "yes", false, "do it")
	return cmd
}

func (m *Main) runContractRekey(ctx context.Context, r upkeep.Rekey, agreed bool) (err error) {
	at, err := m.named()
	if err != nil {
		return err
	}
	unsigned := signature{by: r.By, reason: r.Reason}.check()
	switch {
	case r.Operation == "":
		return misused("add --operation ID", "no operation is named")
	case unsigned != nil:
		return unsigned
	case (r.To == "" || r.To == r.Operation) && len(r.Add) == 0 && len(r.Drop) == 0 && r.Identity == "":
		return misused("add --to, --add, --drop or --identity", "nothing is to change")
	case !agreed:
		return misused("deploy the new contract with it, then add --yes", "rekey makes processes with the old contract refuse all calls")
	}
	db, err := openCurrent(ctx, at, engine.Options{Patience: rekeyPatience, Brief: true})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	done, err := db.Rekey(ctx, r)
	var refused *upkeep.RekeyError
	switch {
	case errors.As(err, &refused):
		return m.rekeyRefused(refused)
	case errors.Is(err, record.ErrNotFound):
		return differs("refrain contract --db "+dbWord(at)+" shows what there is", "%w", err)
	case errors.Is(err, upkeep.ErrRekey):
		return misused("the new identities must be what a contract can declare", "%w", err)
	case err != nil:
		return err
	}
	if m.json {
		return printJSON(m.Stdout, done)
	}
	_, err = fmt.Fprintf(m.Stdout, "moved %d records, %d reviews, %d allows and %d fences of %s to %s by %s\n",
		done.Records, done.Reviews, done.Allows, done.Fences, r.Operation, done.Operation, done.Identity)
	return err
}

// rekeyRefused lists the whole of what stands in the way.
func (m *Main) rekeyRefused(refused *upkeep.RekeyError) error {
	if m.json {
		doc := map[string]any{"collisions": orEmpty(refused.Collisions), "live": orEmpty(refused.Live)}
		if err := printJSON(m.Stdout, doc); err != nil {
			return err
		}
	} else {
		for _, pair := range refused.Collisions {
			fmt.Fprintf(m.Stdout, "collision  %s %s\n", pair[0], pair[1])
		}
		for _, ref := range refused.Live {
			fmt.Fprintf(m.Stdout, "live       %s\n", ref)
		}
	}
	hint := "choose a value that keeps them apart, or another operation id"
	if len(refused.Live) > 0 {
		hint = "stop the processes that hold them, or wait until their leases end, and run it again"
	}
	return differs(hint, "nothing was moved: %d pairs of records would become one, %d records have an attempt under way",
		len(refused.Collisions), len(refused.Live))
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
