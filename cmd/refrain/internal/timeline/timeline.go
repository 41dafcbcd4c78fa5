// Package timeline tells what is known of an external operation, for people and
// for clients: without its key, its payload and the bodies of answers.
package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// Timeline is an operation as it may be shown. Times are UTC; those that are not
// fixed yet are absent.
type Timeline struct {
	Ref       string     `json:"ref"`
	Step      string     `json:"step"`
	Provider  string     `json:"provider"`
	State     string     `json:"state"`
	Disputed  bool       `json:"disputed,omitempty"`
	Why       string     `json:"why,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	DueAt     *time.Time `json:"due_at,omitempty"` // when a machine looks next
	FinalAt   *time.Time `json:"final_at,omitempty"`
	Attempts  []Attempt  `json:"attempts"`
	Omitted   int        `json:"attempts_omitted,omitempty"` // attempts before the listed ones that may have left
	Answer    *Reply     `json:"answer,omitempty"`           // what settled it
	Evidence  []Reply    `json:"evidence,omitempty"`         // other answers
}

// Attempt is one submission.
type Attempt struct {
	N        int        `json:"n"`
	OpenedAt time.Time  `json:"opened_at"`
	NotAfter time.Time  `json:"not_after"` // nothing of it left at or after this instant
	EndedAt  *time.Time `json:"ended_at,omitempty"`
	End      string     `json:"end"`
	Note     string     `json:"note,omitempty"`
}

// Reply is what was heard, without its body.
type Reply struct {
	End       string    `json:"end"`
	At        time.Time `json:"at"`
	Reference string    `json:"reference,omitempty"`
	Status    int       `json:"status,omitempty"`
	Note      string    `json:"note,omitempty"`
}

// String is the reply on one line.
func (r Reply) String() string {
	words := []string{r.At.Format(time.RFC3339Nano) + ",", r.End}
	if r.Status != 0 {
		words = append(words, fmt.Sprint(r.Status))
	}
	if r.Reference != "" {
		words = append(words, r.Reference)
	}
	if r.Note != "" {
		words[len(words)-1] += ":"
		words = append(words, r.Note)
	}
	return strings.Join(words, " ")
}

// Of is what may be shown of o.
func Of(o operation.Operation) Timeline {
	t := Timeline{
		Ref: o.Ref, Step: o.Step, Provider: o.Provider, State: o.State.String(), Disputed: o.Disputed, Why: o.Why,
		CreatedAt: o.Created.UTC(), DueAt: known(o.Due), FinalAt: known(o.Final),
		Attempts: make([]Attempt, 0, len(o.Attempts)), Omitted: o.Dropped.MayHaveLeft,
	}
	for _, a := range o.Attempts {
		t.Attempts = append(t.Attempts, Attempt{a.N, a.Opened.UTC(), a.NotAfter.UTC(), known(a.Ended), a.End.String(), a.Note})
	}
	if o.Answer != nil {
		answer := reply(*o.Answer)
		t.Answer = &answer
	}
	for _, e := range o.Evidence {
		t.Evidence = append(t.Evidence, reply(e))
	}
	return t
}

// All are the timelines of all, in their order; never nil.
func All(all []operation.Operation) []Timeline {
	list := make([]Timeline, 0, len(all))
	for _, o := range all {
		list = append(list, Of(o))
	}
	return list
}

func reply(r operation.Reply) Reply {
	return Reply{r.End.String(), r.At.UTC(), r.Reference, r.Status, r.Note}
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
