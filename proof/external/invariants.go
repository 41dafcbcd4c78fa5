package external

import (
	"slices"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// broken names the invariant a step broke, or "".
func (m *model) broken(before, after *world) string {
	was, is := &before.stored.Operation, &after.stored.Operation
	once := !m.kind.terms.AtLeastOnce && !after.beyond
	switch {
	case once && after.provider.charges > 1:
		return "two charges, and no pause was longer than the margin"
	case !m.kind.repeats() && !m.kind.terms.AtLeastOnce && after.provider.charges > 1:
		return "two charges by a provider nobody may submit to twice"
	case was.State.Final() && !after.person && (is.State != was.State || !is.Final.Equal(was.Final) || !same(*is.Answer, *was.Answer)):
		return "a machine changes a final state"
	case was.State.Final() && after.person && !was.Disputed:
		return "a person changes what is settled and not disputed"
	case was.Disputed && !is.Disputed && !after.person:
		return "a dispute ends without a person"
	case is.State == record.Rejected && once && !after.decided && after.provider.charges > 0:
		return "rejected while there is a charge, and no pause was longer than the margin"
	case is.State == record.Rejected && once && !after.decided && len(after.alive()) > 0 && !m.kind.terms.Dedupes:
		return "rejected while a submission is on its way"
	case is.State == record.Accepted && once && (len(after.alive()) > 0 || after.provider.charges > 0):
		return "accepted although an attempt has left"
	case (is.State == record.Submitted) != !is.Lease.IsZero():
		return "a lease without an attempt under way, or the other way round"
	case is.State.Final() && !is.Due.IsZero():
		return "settled, and due"
	case is.Disputed && !contradicts(is, after):
		return "disputed without a contradiction"
	}
	for i, reference := range after.known {
		switch {
		case !holds(is, reference):
			return "a confirmation is lost"
		case !is.State.Final():
			return "a confirmation does not settle"
		case i >= after.weighed && !is.Disputed && (is.State != record.Confirmed || !agree(is.Answer.Reference, reference)):
			return "a contradiction is not disputed"
		}
	}
	return ""
}

func same(a, b operation.Reply) bool {
	return a.End == b.End && a.Reference == b.Reference && a.At.Equal(b.At)
}

func agree(a, b string) bool { return a == "" || b == "" || a == b }

// holds reports whether the operation has the confirmation, as its answer or as
// evidence; one without a reference is any.
func holds(o *operation.Operation, reference string) bool {
	has := func(r operation.Reply) bool {
		return r.End == operation.Confirmed && (reference == "" || r.Reference == reference)
	}
	return o.Answer != nil && has(*o.Answer) || slices.ContainsFunc(o.Evidence, has)
}

// contradicts reports whether what was told since a person last decided cannot
// all be true beside what is settled.
func contradicts(o *operation.Operation, w *world) bool {
	named := 0
	for _, k := range w.known {
		if k != "" {
			named++
		}
	}
	return len(w.known) > 0 && (o.State == record.Rejected || named > 1 || o.Answer.Reference != "" && !slices.Contains(w.known, o.Answer.Reference))
}
