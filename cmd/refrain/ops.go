package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

func (m *Main) ops() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ops",
		Short: "See and resolve actions whose outcome waits for somebody",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(m.opsList(), m.opsExternal(), m.opsShow(), m.opsResolve())
	return cmd
}

func (m *Main) opsList() *cobra.Command {
	var q upkeep.Query
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List unfinished and disputed actions, oldest first",
		Long: `list prints what waits for somebody: accepted, submitted, unknown and disputed
actions, oldest first. A submitted one whose lease is past is unknown.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.runOpsList(cmd.Context(), q) },
	}
	flags := cmd.Flags()
	flags.StringVar(&q.State, "state", "", "only this `state`: accepted, submitted, unknown, confirmed, rejected or disputed")
	flags.StringVar(&q.Operation, "operation", "", "only the operation with this `id`")
	flags.IntVar(&q.Limit, "limit", 100, "at most this `number`, up to 1000")
	return cmd
}

// op is an action in a list. No key and no payload is shown.
type op struct {
	Ref       string `json:"ref"`
	Operation string `json:"operation"`
	Scope     string `json:"scope"`
	State     string `json:"state"`
	Age       int64  `json:"age_s"`
	Attempts  int    `json:"attempts"`
}

func opOf(rec record.Record, now time.Time) op {
	return op{rec.Ref, rec.Identity.Operation, rec.Identity.Scope, stateOf(rec), int64(now.Sub(rec.Created) / time.Second), rec.Attempt}
}

// disputed is shown in place of the state: it is one of two that contradict
// each other.
const disputed = "disputed"

func stateOf(rec record.Record) string {
	if rec.Disputed {
		return disputed
	}
	return rec.State.String()
}

func (m *Main) runOpsList(ctx context.Context, q upkeep.Query) (err error) {
	at, err := m.named()
	if err != nil {
		return err
	}
	if _, ok := record.ParseState(q.State); !ok && q.State != "" && q.State != disputed {
		return misused("states are accepted, submitted, unknown, confirmed, rejected and disputed", "there is no state %q", q.State)
	}
	if q.Limit < 1 || q.Limit > 1000 {
		return misused("from 1 to 1000", "--limit is %d", q.Limit)
	}
	db, err := openCurrent(ctx, at, brief)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	recs, now, err := db.Oldest(ctx, q)
	if err != nil {
		return err
	}
	list := []op{}
	for _, rec := range recs {
		list = append(list, opOf(rec, now))
	}
	if m.json {
		return printJSON(m.Stdout, list)
	}
	for _, o := range list {
		_, err := fmt.Fprintf(m.Stdout, "%s  %-9s  %s  %s  %s old, %d attempts\n",
			o.Ref, o.State, o.Operation, oneLine(o.Scope), time.Duration(o.Age)*time.Second, o.Attempts)
		if err != nil {
			return err
		}
	}
	return nil
}

// notFound ends a command about an action that is not there.
func notFound(ref string, err error) error {
	if errors.Is(err, record.ErrNotFound) {
		return differs("refrain ops list shows the refs of what waits for somebody", "no action has the ref %q", ref)
	}
	return err
}
