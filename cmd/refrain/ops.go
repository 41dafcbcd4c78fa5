package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/sqlite"
)

func (m *Main) ops() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ops",
		Short: "See and resolve actions whose outcome waits for somebody",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(m.opsList(), m.opsShow(), m.opsResolve())
	return cmd
}

func (m *Main) opsList() *cobra.Command {
	var q sqlite.Query
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

func (m *Main) runOpsList(ctx context.Context, q sqlite.Query) (err error) {
	path, err := m.named()
	if err != nil {
		return err
	}
	if _, ok := record.ParseState(q.State); !ok && q.State != "" && q.State != disputed {
		return misused("states are accepted, submitted, unknown, confirmed, rejected and disputed", "there is no state %q", q.State)
	}
	if q.Limit < 1 || q.Limit > 1000 {
		return misused("from 1 to 1000", "--limit is %d", q.Limit)
	}
	db, err := openCurrent(ctx, path)
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

func (m *Main) opsShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show REF",
		Short: "Show what is known of an action, and what operators did",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return m.runOpsShow(cmd.Context(), args[0]) },
	}
}

// opDetail is all that may be shown of an action.
type opDetail struct {
	op
	Actor         string         `json:"actor,omitempty"`
	CreatedAt     time.Time      `json:"created_at"`
	LeaseUntil    *time.Time     `json:"lease_until,omitempty"`
	FinalAt       *time.Time     `json:"final_at,omitempty"`
	ReplayUntil   *time.Time     `json:"replay_until,omitempty"`
	RememberUntil *time.Time     `json:"remember_until,omitempty"`
	Answer        *answer        `json:"answer,omitempty"`
	Evidence      []answer       `json:"evidence,omitempty"` // answers that contradict it
	Audits        []sqlite.Audit `json:"audits"`
}

// answer is a result without its body.
type answer struct {
	State  string `json:"state"`
	Status int    `json:"status,omitempty"`
	Effect string `json:"effect,omitempty"`
}

func answerOf(r record.Result) answer {
	state := record.Confirmed
	if r.Rejected {
		state = record.Rejected
	}
	return answer{state.String(), r.Status, r.Effect}
}

func (m *Main) runOpsShow(ctx context.Context, ref string) (err error) {
	path, err := m.named()
	if err != nil {
		return err
	}
	db, err := openCurrent(ctx, path)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	rec, now, err := db.Standing(ctx, ref)
	if err != nil {
		return notFound(ref, err)
	}
	detail := opDetail{
		op: opOf(rec, now), Actor: rec.Actor, CreatedAt: rec.Created, LeaseUntil: known(rec.Lease), FinalAt: known(rec.Final),
		ReplayUntil: known(rec.ReplayUntil), RememberUntil: known(rec.RememberUntil),
	}
	if rec.State.Final() {
		a := answerOf(rec.Result)
		detail.Answer = &a
	}
	for _, e := range rec.Evidence {
		detail.Evidence = append(detail.Evidence, answerOf(e))
	}
	if detail.Audits, err = db.Audits(ctx, ref); err != nil {
		return err
	}
	detail.Audits = orEmpty(detail.Audits)
	if m.json {
		return printJSON(m.Stdout, detail)
	}
	return m.printOp(detail)
}

func (m *Main) printOp(d opDetail) error {
	line := func(name string, value any) { fmt.Fprintf(m.Stdout, "%-15s %s\n", name, oneLine(fmt.Sprint(value))) }
	at := func(name string, t *time.Time) {
		if t != nil {
			line(name, t.Format(time.RFC3339Nano))
		}
	}
	line("ref", d.Ref)
	line("operation", d.Operation)
	line("scope", d.Scope)
	line("state", d.State)
	line("attempts", d.Attempts)
	if d.Actor != "" {
		line("actor", d.Actor)
	}
	at("created", &d.CreatedAt)
	at("lease until", d.LeaseUntil)
	at("final", d.FinalAt)
	at("replay until", d.ReplayUntil)
	at("remember until", d.RememberUntil)
	if d.Answer != nil {
		line("answer", d.Answer)
	}
	for _, e := range d.Evidence {
		line("evidence", e)
	}
	for _, a := range d.Audits {
		line("audit", fmt.Sprintf("%s %s by %s: %s (%s)", a.At.Format(time.RFC3339), a.Action, a.By, a.Reason, a.Detail))
	}
	return nil
}

func (a answer) String() string {
	s := a.State
	if a.Status != 0 {
		s += fmt.Sprintf(" %d", a.Status)
	}
	if a.Effect != "" {
		s += " " + a.Effect
	}
	return s
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// notFound ends a command about an action that is not there.
func notFound(ref string, err error) error {
	if errors.Is(err, record.ErrNotFound) {
		return differs("refrain ops list shows the refs of what waits for somebody", "no action has the ref %q", ref)
	}
	return err
}
