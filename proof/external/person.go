package external

import (
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

func (m *model) personSteps(before *world, try func(step, func(*world) bool)) {
	if before.acts == maxActs {
		return
	}
	o, now := before.stored.Operation, instant(before.now)
	act := func(what string, next operation.Operation, err error, decides bool) {
		if err != nil {
			return
		}
		try(step{who: "a person", what: what}, func(w *world) bool {
			w.acts++
			w.person = true
			if decides {
				w.decided, w.weighed = true, len(w.known)
			}
			m.put(w, news{}, shot(next))
			return true
		})
	}
	yes := operation.Reply{End: operation.Confirmed}
	if o.State == record.Confirmed {
		yes.Reference = o.Answer.Reference // of two, the first
	}
	next, err := m.rules.decide(o, now, yes)
	act("confirms", next, err, true)
	next, err = m.rules.decide(o, now, operation.Reply{End: operation.Refused})
	act("refuses", next, err, true)
	next, err = m.rules.withdraw(o, now, "")
	act("withdraws", next, err, false)
	if next, err = m.rules.resume(o, m.kind.terms, now); err == nil && !next.Due.Equal(o.Due) {
		act("resumes", next, nil, false)
	}
}
