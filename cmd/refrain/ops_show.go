package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/timeline"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

func (m *Main) opsShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show REF",
		Short: "Show what is known of an action, and what operators did",
		Long: `show prints what is known of the action with this ref, the timeline of each of
its external operations, and what operators did. With the ref of an external
operation it prints the timeline of that one. No key and no payload is shown.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return m.runOpsShow(cmd.Context(), args[0]) },
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
	Audits        []upkeep.Audit `json:"audits"`

	External []timeline.Timeline `json:"external,omitempty"`
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
	at, err := m.named()
	if err != nil {
		return err
	}
	db, err := openCurrent(ctx, at, brief)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	rec, now, err := db.Standing(ctx, ref)
	if errors.Is(err, record.ErrNotFound) {
		return m.showOperation(ctx, db, ref)
	}
	if err != nil {
		return err
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
	all, err := db.Operations().Of(ctx, ref)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		detail.External = timeline.All(all)
	}
	if m.json {
		return printJSON(m.Stdout, detail)
	}
	return m.printOp(detail)
}

// showOperation prints one external operation by its own ref.
func (m *Main) showOperation(ctx context.Context, db engine.Database, ref string) error {
	o, _, err := db.Operations().Load(ctx, ref)
	if err != nil {
		return notFound(ref, err)
	}
	audits, err := db.Audits(ctx, ref)
	if err != nil {
		return err
	}
	if m.json {
		return printJSON(m.Stdout, struct {
			timeline.Timeline
			Action string         `json:"action,omitempty"`
			Audits []upkeep.Audit `json:"audits"`
		}{timeline.Of(o), o.Action, orEmpty(audits)})
	}
	if o.Action != "" {
		m.line("action", o.Action)
	}
	m.printTimeline(timeline.Of(o))
	m.printAudits(audits)
	return nil
}

// line prints one thing that is known.
func (m *Main) line(name string, value any) {
	fmt.Fprintf(m.Stdout, "%-15s %s\n", name, oneLine(fmt.Sprint(value)))
}

func (m *Main) printTimeline(t timeline.Timeline) {
	state := t.State
	if t.Disputed {
		state = disputed
	}
	m.line("external", fmt.Sprintf("%s, step %s at %s", t.Ref, t.Step, t.Provider))
	m.line("  state", told(state, t.Why))
	m.line("  accepted", t.CreatedAt.Format(time.RFC3339Nano))
	if t.Omitted > 0 {
		m.line("  attempts", fmt.Sprintf("%d that may have left are no longer listed", t.Omitted))
	}
	for _, a := range t.Attempts {
		text := a.OpenedAt.Format(time.RFC3339Nano)
		if a.EndedAt != nil {
			text += " to " + a.EndedAt.Format(time.RFC3339Nano)
		}
		m.line(fmt.Sprintf("  attempt %d", a.N), told(text+", "+a.End, a.Note))
	}
	for _, e := range t.Evidence {
		m.line("  evidence", e)
	}
	if t.Answer != nil {
		m.line("  answer", t.Answer)
	}
	switch {
	case t.DueAt != nil:
		m.line("  next look", t.DueAt.Format(time.RFC3339Nano))
	case t.FinalAt != nil:
		m.line("  final", t.FinalAt.Format(time.RFC3339Nano))
	}
}

// told is a fact and what there is to say about it.
func told(fact, why string) string {
	if why == "" {
		return fact
	}
	return fact + ": " + why
}

func (m *Main) printAudits(audits []upkeep.Audit) {
	for _, a := range audits {
		m.line("audit", fmt.Sprintf("%s %s by %s: %s (%s)", a.At.Format(time.RFC3339), a.Action, a.By, a.Reason, a.Detail))
	}
}

func (m *Main) printOp(d opDetail) error {
	at := func(name string, t *time.Time) {
		if t != nil {
			m.line(name, t.Format(time.RFC3339Nano))
		}
	}
	m.line("ref", d.Ref)
	m.line("operation", d.Operation)
	m.line("scope", d.Scope)
	m.line("state", d.State)
	m.line("attempts", d.Attempts)
	if d.Actor != "" {
		m.line("actor", d.Actor)
	}
	at("created", &d.CreatedAt)
	at("lease until", d.LeaseUntil)
	at("final", d.FinalAt)
	at("replay until", d.ReplayUntil)
	at("remember until", d.RememberUntil)
	if d.Answer != nil {
		m.line("answer", d.Answer)
	}
	for _, e := range d.Evidence {
		m.line("evidence", e)
	}
	for _, t := range d.External {
		m.printTimeline(t)
	}
	m.printAudits(d.Audits)
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
