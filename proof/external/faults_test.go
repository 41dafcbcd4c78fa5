package external

import (
	"slices"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// TestNotFoundIsNoPermission: the walk finds the counter-example that every
// reconciler meets that submits again once a provider, which does not recognise a
// repeated key, says that it knows nothing of it. The first submission is then
// between its worker's look at the clock and its arrival, and no pause is longer
// than the margin.
func TestNotFoundIsNoPermission(t *testing.T) {
	t.Parallel()
	found(t, "can be asked", func(r *rules) {
		permits := func(o operation.Operation, t operation.Terms) operation.Terms {
			t.AtLeastOnce = !o.NotFound.IsZero()
			return t
		}
		r.next = func(o operation.Operation, t operation.Terms, now time.Time) operation.Move {
			return o.Next(permits(o, t), now)
		}
		r.open = func(o operation.Operation, t operation.Terms, now time.Time, lease time.Duration) (operation.Operation, error) {
			return o.Open(permits(o, t), now, lease)
		}
	})
}

// found fails unless a walk of the kind of provider with a fault planted, and
// pauses within the margin, breaks an invariant.
func found(t *testing.T, name string, plant func(r *rules)) {
	t.Helper()
	k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
	m := &model{kind: k, rules: sound()}
	plant(&m.rules)
	worlds := 0
	for depth := 3; depth <= 8; depth++ {
		for _, s := range starts {
			first, came, err := m.at(s)
			if err != nil {
				continue
			}
			all := m.walk(first, came, depth)
			if worlds += all.worlds; all.fault != "" {
				t.Logf("in %d worlds: %s", worlds, all.fault)
				return
			}
		}
	}
	t.Fatalf("not found in %d worlds", worlds)
}

// terms has next and open go by other terms than the provider's.
func (r *rules) terms(change func(t *operation.Terms)) {
	next, open := r.next, r.open
	r.next = func(o operation.Operation, t operation.Terms, now time.Time) operation.Move {
		change(&t)
		return next(o, t, now)
	}
	r.open = func(o operation.Operation, t operation.Terms, now time.Time, lease time.Duration) (operation.Operation, error) {
		change(&t)
		return open(o, t, now, lease)
	}
}

// closed changes what is made of a reply and of a finding.
func (r *rules) closed(change func(was, is operation.Operation, told operation.Reply) operation.Operation) {
	close, asked := r.close, r.asked
	r.close = func(o operation.Operation, n int, told operation.Reply, now time.Time, p operation.Pace) operation.Operation {
		return change(o, close(o, n, told, now, p), told)
	}
	r.asked = func(o operation.Operation, t operation.Terms, f operation.Finding, sent, now time.Time, p operation.Pace) operation.Operation {
		return change(o, asked(o, t, f, sent, now, p), f.Reply)
	}
}

// opened changes what opening an attempt makes of the operation.
func (r *rules) opened(change func(o *operation.Operation)) {
	open := r.open
	r.open = func(o operation.Operation, t operation.Terms, now time.Time, lease time.Duration) (operation.Operation, error) {
		next, err := open(o, t, now, lease)
		if err == nil {
			change(&next)
		}
		return next, err
	}
}

func reject(o operation.Operation, now time.Time) operation.Operation {
	o.State, o.Final, o.Answer = record.Rejected, now, &operation.Reply{End: operation.Refused, At: now}
	o.Due, o.Lease = time.Time{}, time.Time{}
	return o
}

// TestPlantedFaults: the walk finds a way to each of them.
func TestPlantedFaults(t *testing.T) {
	t.Parallel()
	const storing, performing, both, asking, final, none = "dedupes, stores refusals", "dedupes what it performed",
		"dedupes and can be asked", "can be asked", "can be asked, not found is final", "promises nothing"
	for _, fault := range []struct {
		name, kind string
		plant      func(r *rules)
	}{
		{"writes without comparing versions", none, func(r *rules) { r.blind = true }},
		{"nobody looks at the clock before the first byte", performing, func(r *rules) { r.gateless = true }},
		{"no margin", performing, func(r *rules) { r.terms(func(t *operation.Terms) { t.Margin = -1 }) }},
		{"the window has no end", both, func(r *rules) { r.terms(func(t *operation.Terms) { t.DedupesFor = 0 }) }},
		{"the window runs from the newest attempt", performing, func(r *rules) {
			r.opened(func(o *operation.Operation) { o.First = o.Attempts[len(o.Attempts)-1].Opened })
		}},
		{"not found is final at once", final, func(r *rules) { r.terms(func(t *operation.Terms) { t.NotFoundFinalAfter = -1 }) }},
		{"not found is final where the provider does not say so", asking, func(r *rules) {
			r.terms(func(t *operation.Terms) { t.NotFoundFinalAfter = -1 })
		}},
		{"a lost outcome is submitted again", none, func(r *rules) { r.terms(func(t *operation.Terms) { t.Dedupes = true }) }},
		{"a refusal settles while another attempt may have left", performing, func(r *rules) {
			r.close = func(o operation.Operation, n int, told operation.Reply, now time.Time, p operation.Pace) operation.Operation {
				told.Stored = told.End == operation.Refused
				return o.Close(n, told, now, p)
			}
		}},
		{"a new attempt voids the earlier ones", performing, func(r *rules) {
			r.opened(func(o *operation.Operation) {
				for i := range o.Attempts[:len(o.Attempts)-1] {
					o.Attempts[i].End = operation.Void
				}
			})
		}},
		{"an answer counts from when it was heard", final, func(r *rules) {
			r.asked = func(o operation.Operation, t operation.Terms, f operation.Finding, sent, now time.Time, p operation.Pace) operation.Operation {
				return o.Asked(t, f, now, now, p)
			}
		}},
		{"a lease that is past was not used", none, func(r *rules) {
			r.abandon = func(o operation.Operation, now time.Time, p operation.Pace) operation.Operation {
				return o.Close(len(o.Attempts), operation.Reply{End: operation.NotSent}, now, p)
			}
		}},
		{"a lost outcome is a failure", none, func(r *rules) {
			r.closed(func(_, is operation.Operation, told operation.Reply) operation.Operation {
				if told.End == operation.Lost && is.State == record.Unknown {
					return reject(is, told.At)
				}
				return is
			})
		}},
		{"not found is a failure", asking, func(r *rules) {
			r.asked = func(o operation.Operation, t operation.Terms, f operation.Finding, sent, now time.Time, p operation.Pace) operation.Operation {
				if next := o.Asked(t, f, sent, now, p); f.Found || next.State != record.Unknown {
					return next
				}
				return reject(o, now)
			}
		}},
		{"what is final hears no more", storing, func(r *rules) {
			r.closed(func(was, is operation.Operation, _ operation.Reply) operation.Operation {
				if was.State.Final() {
					return was
				}
				return is
			})
		}},
		{"the latest confirmation wins", none, func(r *rules) {
			r.closed(func(was, is operation.Operation, told operation.Reply) operation.Operation {
				if was.State == record.Rejected && told.End == operation.Confirmed {
					is.State, is.Answer, is.Disputed = record.Confirmed, &told, false
				}
				return is
			})
		}},
		{"no contradiction is disputed", none, func(r *rules) {
			r.closed(func(_, is operation.Operation, _ operation.Reply) operation.Operation {
				is.Disputed = false
				return is
			})
		}},
		{"a confirmation told twice is disputed", performing, func(r *rules) {
			r.closed(func(was, is operation.Operation, told operation.Reply) operation.Operation {
				is.Disputed = is.Disputed || was.State == record.Confirmed && told.End == operation.Confirmed
				return is
			})
		}},
		{"evidence is dropped", none, func(r *rules) {
			r.closed(func(_, is operation.Operation, _ operation.Reply) operation.Operation {
				is.Evidence = nil
				return is
			})
		}},
		{"a correction forgets what it overrules", none, func(r *rules) {
			r.decide = func(o operation.Operation, now time.Time, told operation.Reply) (operation.Operation, error) {
				next, err := o.Decide(now, told)
				next.Evidence = nil
				return next, err
			}
		}},
		{"a person decides what is settled", none, func(r *rules) {
			r.decide = func(o operation.Operation, now time.Time, told operation.Reply) (operation.Operation, error) {
				o.Disputed = o.State.Final()
				return o.Decide(now, told)
			}
		}},
		{"what may have left is withdrawn", none, func(r *rules) {
			r.withdraw = func(o operation.Operation, now time.Time, why string) (operation.Operation, error) {
				if o.State == record.Unknown {
					o.State = record.Accepted
				}
				return o.Withdraw(now, why)
			}
		}},
		{"what may have left expires", none, func(r *rules) {
			r.next = func(o operation.Operation, t operation.Terms, now time.Time) operation.Move {
				if o.State == record.Unknown && o.Within > 0 && !now.Before(o.Created.Add(o.Within)) {
					return operation.Expire
				}
				return o.Next(t, now)
			}
			r.expire = func(o operation.Operation, now time.Time) operation.Operation {
				o.State = record.Accepted
				return o.Expire(now)
			}
		}},
		{"a settled operation stays due", none, func(r *rules) {
			r.closed(func(was, is operation.Operation, _ operation.Reply) operation.Operation {
				is.Due = was.Due
				return is
			})
		}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			found(t, fault.kind, fault.plant)
		})
	}
}
