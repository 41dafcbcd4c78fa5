package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

func (m *Main) opsExternal() *cobra.Command {
	limit := 100
	cmd := &cobra.Command{
		Use:   "external",
		Short: "List external operations whose outcome is unknown or disputed, and parked ones",
		Long: `external prints what is not known of effects outside of the database: unknown and
disputed operations, and those no machine looks at any more, oldest first, with
provider, step, age and reason. What a person has decided about the action is
not listed, though its service may not have adopted it yet. Before them stand the
providers of which an operation has been due for more than a minute: no process
carries them out, or not fast enough. What cannot be read is an error, after the
rest.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.runOpsExternal(cmd.Context(), limit) },
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "at most this `number` of each kind, up to 1000")
	return cmd
}

// overdueAfter is how long an operation is due before that is worth a word: runners
// look about once a second.
const overdueAfter = time.Minute

// overdue is in place of a state where a provider as a whole is meant.
const overdue = "overdue"

// externalOp is an external operation in a list, or without Ref what is to be known
// of a provider. No key and no payload is shown.
type externalOp struct {
	Ref      string `json:"ref,omitempty"`
	Action   string `json:"action,omitempty"` // whose outcome it is, as ops resolve takes it
	Provider string `json:"provider"`
	Step     string `json:"step,omitempty"`
	State    string `json:"state"`
	Parked   bool   `json:"parked"` // no machine looks at it any more
	Age      int64  `json:"age_s"`
	Attempts int    `json:"attempts"`
	Why      string `json:"why,omitempty"`
}

func (m *Main) runOpsExternal(ctx context.Context, limit int) (err error) {
	at, err := m.named()
	if err != nil {
		return err
	}
	if limit < 1 || limit > 1000 {
		return misused("from 1 to 1000", "--limit is %d", limit)
	}
	db, err := openCurrent(ctx, at, brief)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	late, err := overdueProviders(ctx, db)
	if err != nil {
		return err
	}
	open, unread := openOperations(ctx, db, limit)
	switch {
	case errors.Is(unread, record.RecordUnreadable):
		unread = differs("see what wrote these rows, and restore them from a backup; machines leave them alone", "%w", unread)
	case errors.Is(unread, record.ErrNewerFormat):
		unread = unusable(newerHint, "%w", unread)
	case unread != nil:
		return unread
	}
	list := append(late, open...)
	if m.json {
		return errors.Join(printJSON(m.Stdout, list), unread)
	}
	for _, o := range list {
		if o.Ref == "" {
			if _, err := fmt.Fprintf(m.Stdout, "%s at %s  for %s, %s\n", o.State, oneLine(o.Provider), time.Duration(o.Age)*time.Second, o.Why); err != nil {
				return err
			}
			continue
		}
		whose, who := "", "a machine looks again"
		if o.Action != "" {
			whose = " of " + o.Action
		}
		if o.Parked {
			who = "a person must look"
		}
		_, err := fmt.Fprintf(m.Stdout, "%s%s  %-9s  %s at %s  %s old, %d attempts, %s\n", o.Ref, whose, o.State, oneLine(o.Step), oneLine(o.Provider),
			time.Duration(o.Age)*time.Second, o.Attempts, oneLine(told(who, o.Why)))
		if err != nil {
			return err
		}
	}
	return unread
}

// overdueProviders are those whose operations have been due for long.
func overdueProviders(ctx context.Context, db engine.Database) ([]externalOp, error) {
	since, now, err := db.Operations().Due(ctx)
	if err != nil {
		return nil, err
	}
	late := []externalOp{}
	for _, name := range slices.Sorted(maps.Keys(since)) {
		if age := now.Sub(since[name]); age > overdueAfter {
			late = append(late, externalOp{
				Provider: name, State: overdue, Age: int64(age / time.Second),
				Why: "no process carries out this provider's operations, or not fast enough",
			})
		}
	}
	return late, nil
}

// openOperations are the operations that wait for an outcome or a person. What it
// returns beside an error is all that can be read.
func openOperations(ctx context.Context, db engine.Database, limit int) ([]externalOp, error) {
	reader, err := external.New[refrain.SQLTx](db.Operations(), external.Options{}) // it is not run
	if err != nil {
		return nil, err
	}
	cases, unread := reader.Cases(ctx, limit)
	var list []externalOp
	for _, c := range cases {
		o := c.Operation
		if decided, err := isDecided(ctx, db, o.Action); err != nil {
			return nil, err
		} else if decided && !o.Disputed {
			continue
		}
		state := o.State.String()
		if o.Disputed {
			state = disputed
		}
		list = append(list, externalOp{o.Ref, o.Action, o.Provider, o.Step, state, c.Parked, int64(c.Age / time.Second), attemptsOf(o), o.Why})
	}
	return list, unread
}

// attemptsOf counts those that are no longer listed, too.
func attemptsOf(o operation.Operation) int {
	if len(o.Attempts) == 0 {
		return 0
	}
	return o.Attempts[len(o.Attempts)-1].N
}

// isDecided reports whether the action's record is final already.
func isDecided(ctx context.Context, db engine.Database, action string) (bool, error) {
	if action == "" {
		return false, nil
	}
	rec, err := db.Find(ctx, action)
	if errors.Is(err, record.ErrNotFound) {
		return false, nil
	}
	return rec.State.Final(), err
}
