package operation

import (
	"bytes"
	"slices"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// confirmed takes the word of the provider that the effect happened. It settles
// what is not final. Beside a final state it is told apart by its reference: one
// that is known already, or none at all where an effect is known, says nothing
// new.
func (o Operation) confirmed(r Reply) Operation {
	if !o.State.Final() {
		return o.settle(record.Confirmed, r)
	}
	agrees, contradicts := false, false
	for _, known := range o.confirmations() {
		if r.Reference == "" || r.Reference == known.Reference {
			return o
		}
		agrees = agrees || known.Reference == ""
		contradicts = contradicts || known.Reference != ""
	}
	o = o.keep(r)
	if contradicts || !agrees {
		o.Disputed, o.Due = true, time.Time{}
		o.Why = "a confirmation contradicts what was settled"
	}
	return o
}

// confirmations are those that were heard so far.
func (o Operation) confirmations() (known []Reply) {
	if o.Answer != nil && o.Answer.End == Confirmed {
		known = append(known, *o.Answer)
	}
	for _, e := range o.Evidence {
		if e.End == Confirmed {
			known = append(known, e)
		}
	}
	return known
}

// keep adds r to the evidence, unless the same was heard before. Over the bound
// the newest refusal gives way, and the newest confirmation where there are only
// those: the first contradiction stays.
func (o Operation) keep(r Reply) Operation {
	if o.Answer != nil && o.Answer.same(r) || slices.ContainsFunc(o.Evidence, r.same) {
		return o
	}
	o.Evidence = slices.Clone(o.Evidence)
	if len(o.Evidence) >= MaxEvidence {
		drop := len(o.Evidence) - 1
		for i, e := range o.Evidence {
			if e.End != Confirmed {
				drop = i
			}
		}
		o.Evidence = slices.Delete(o.Evidence, drop, drop+1)
	}
	o.Evidence = append(o.Evidence, r)
	return o
}

// same reports whether two replies say the same, whenever they came.
func (r Reply) same(other Reply) bool {
	return r.End == other.End && r.Reference == other.Reference && r.Status == other.Status &&
		r.Stored == other.Stored && bytes.Equal(r.Body, other.Body)
}
