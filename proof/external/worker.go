package external

import (
	"slices"

	"github.com/refrain-dev/refrain/operation"
)

func (m *model) workerSteps(before *world, i int, try func(step, func(*world) bool)) {
	mine := before.workers[i]
	named := func(what string, act func(w *world, k *worker) bool) {
		try(step{"worker", i + 1, what}, func(w *world) bool { return act(w, &w.workers[i]) })
	}
	// learns: it decides about what prepare gives it, and writes that later or at
	// once.
	learns := func(what string, prepare func(w *world) news) {
		named(what, func(w *world, k *worker) bool { return m.decide(w, k, prepare(w)) })
		named(what+" and writes", func(w *world, k *worker) bool {
			return m.decide(w, k, prepare(w)) && m.write(w, k)
		})
	}
	says := func(what string, end operation.End) {
		learns(what, func(*world) news { return news{attempt: mine.attempt, reply: operation.Reply{End: end}} })
	}
	if mine.write != nil {
		named("writes", m.write)
		return
	}
	switch mine.at {
	case idle:
		learns("takes it", func(*world) news { return news{} })
	case opened:
		if before.now >= mine.notAfter && !m.rules.gateless {
			says("looks at the clock, too late,", operation.NotSent)
		} else {
			named("looks at the clock", func(w *world, k *worker) bool {
				w.flights = append(slices.Clip(w.flights), flight{k.attempt, w.now})
				k.at = waiting
				return true
			})
		}
		says("cannot connect", operation.NotSent)
	case waiting:
		says("gives up", operation.Lost)
		for a, heard := range before.answers {
			if heard.attempt == mine.attempt {
				learns("hears the answer", func(w *world) news {
					w.answers = slices.Delete(slices.Clone(before.answers), a, a+1)
					return heard
				})
			}
		}
	case asking:
		learns("is told what the provider knows", func(w *world) news {
			f := w.provider.asked(m.kind, w.now)
			return news{finding: &f, asked: mine.asked}
		})
	}
	if mine.at == opened || mine.at == waiting {
		named("extends its lease", func(w *world, k *worker) bool {
			next, err := m.rules.extend(w.stored.Operation, k.attempt, instant(w.now), tick)
			if err != nil || next.Lease.Equal(w.stored.Lease) {
				return false
			}
			m.put(w, news{}, shot(next))
			return true
		})
	}
	if mine.at != idle {
		named("dies", func(_ *world, k *worker) bool {
			*k = worker{}
			return true
		})
	}
}

// decide has k decide about the operation as it is now; false means that there
// is nothing to write.
func (m *model) decide(w *world, k *worker, about news) bool {
	next, then := m.judge(w, about)
	k.write = &write{about: about, version: w.stored.Version, next: shot(next), then: then}
	return !about.none() || k.write.next.key != w.stored.key
}

// write writes what k has decided, or decides again if the operation has changed.
func (m *model) write(w *world, k *worker) bool {
	if k.write.version != w.stored.Version && !m.rules.blind {
		if !m.decide(w, k, k.write.about) {
			*k = worker{}
		}
		return true
	}
	m.put(w, k.write.about, k.write.next)
	*k = k.write.then
	return true
}
