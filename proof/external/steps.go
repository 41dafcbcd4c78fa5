package external

import (
	"slices"

	"github.com/refrain-dev/refrain/operation"
)

// bounds of a walk: attempts that are opened, and acts of the person.
const maxAttempts, maxActs = 3, 2

// model is what a walk is of.
type model struct {
	kind  kind
	rules rules
	// beyond: a pause may last longer than the margin. Else what has not arrived
	// by then never does.
	beyond bool
}

// next are the worlds one step away.
func (m *model) next(w *world) []world {
	worlds := make([]world, 0, 16)
	try := func(s step, act func(w *world) bool) {
		worlds = append(worlds, *w)
		after := &worlds[len(worlds)-1]
		after.lastStep, after.person = s, false
		if !act(after) {
			worlds = worlds[:len(worlds)-1]
		}
	}
	for i := range w.workers {
		if i == 0 || string(w.workerKey(w.workers[0], m.rules.blind)) != string(w.workerKey(w.workers[1], m.rules.blind)) {
			m.workerSteps(w, i, try)
		}
	}
	for i, f := range w.flights {
		m.arrivals(i, f, try)
	}
	for i, a := range w.answers {
		try(step{"an answer to attempt", a.attempt, "comes late"}, func(w *world) bool {
			w.answers = slices.Delete(slices.Clone(w.answers), i, i+1)
			next, _ := m.judge(w, a)
			m.put(w, a, shot(next))
			return true
		})
	}
	m.personSteps(w, try)
	try(step{who: "time", what: "passes"}, func(w *world) bool {
		w.now++
		if !m.beyond {
			w.flights = w.alive()
		}
		return w.now <= latest
	})
	return worlds
}

// arrivals are what the provider may do with a submission.
func (m *model) arrivals(i int, f flight, try func(step, func(*world) bool)) {
	for _, charge := range []bool{true, false} {
		what := "arrives and is refused"
		if charge {
			what = "arrives and is performed"
		}
		try(step{"attempt", f.attempt, what}, func(w *world) bool {
			w.beyond = w.beyond || w.now-f.looked > margin
			w.flights = slices.Delete(slices.Clone(w.flights), i, i+1)
			w.answers = append(slices.Clip(w.answers), news{attempt: f.attempt, reply: w.provider.meets(m.kind, charge, w.now)})
			return true
		})
	}
}

// put writes next, which was decided about what is told.
func (m *model) put(w *world, told news, next *snapshot) {
	put := *next
	put.Version = w.stored.Version + 1
	w.stored = &put
	if r, ok := told.confirms(); ok && !slices.Contains(w.known, r.Reference) {
		w.known = append(slices.Clip(w.known), r.Reference)
	}
}

// judge is what a worker makes of the operation as it is now, and where that
// leaves it once it is written.
func (m *model) judge(w *world, about news) (operation.Operation, worker) {
	o, now, r := w.stored.Operation, instant(w.now), m.rules
	switch {
	case about.finding != nil:
		return r.asked(o, m.kind.terms, *about.finding, instant(about.asked), now, pace), worker{}
	case about.attempt != 0:
		return r.close(o, about.attempt, about.reply, now, pace), worker{}
	}
	switch r.next(o, m.kind.terms, now) {
	case operation.Submit:
		next, err := r.open(o, m.kind.terms, now, tick)
		if err != nil || len(o.Attempts) == maxAttempts {
			return o, worker{}
		}
		a := next.Attempts[len(next.Attempts)-1]
		return next, worker{at: opened, attempt: a.N, notAfter: ticks(a.NotAfter)}
	case operation.Ask:
		return o.Inquire(now, tick), worker{at: asking, asked: w.now}
	case operation.Abandon:
		return r.abandon(o, now, pace), worker{}
	case operation.Expire:
		return r.expire(o, now), worker{}
	case operation.Leave:
		return o.Leave(o.Safe(m.kind.terms, now)), worker{}
	}
	return o, worker{}
}
