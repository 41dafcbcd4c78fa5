package model

import (
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// bounds of the clock, in leases around its start.
const earliest, latest = -1, 3

// next are the worlds one step away.
func (w world) next(r rules, c *record.Claim) []world {
	var worlds []world
	step := func(name string, act func(w *world) bool) {
		after := w
		after.lastStep = fate{name: name}
		if act(&after) {
			worlds = append(worlds, after)
		}
	}
	for i := range w.owners {
		w.ownerSteps(i, r, c, step)
	}
	step("the reader looks", func(w *world) bool {
		w.looked = &record.Seen{Record: w.stored}
		return w.stored != nil
	})
	step("the reader acts", func(w *world) bool {
		if w.looked == nil {
			return false
		}
		looked := *w.looked
		w.looked = nil
		if !record.Decide(c.Policy, looked, c.Request, w.now).LeasePast {
			return true
		}
		if r.stale {
			w.write(r.expire(looked, w.now))
			return true
		}
		w.write(r.expire(w.seen(), w.now))
		return true
	})
	for _, i := range []int{0, 2} {
		step(fmt.Sprintf("the operator resolves as answer %d", i), func(w *world) bool {
			edit, err := r.resolve(w.seen(), w.now, answers[i], c.Policy, "ada", "checked")
			if err != nil {
				return false
			}
			w.lastStep.operator = true
			w.given[i] = true
			w.write(edit)
			return true
		})
	}
	for _, d := range []int64{1, -1} {
		step(fmt.Sprintf("the clock moves by %d", d), func(w *world) bool {
			to := ticks(w.now) + d
			w.now = epoch.Add(lease * time.Duration(to))
			return earliest <= to && to <= latest
		})
	}
	return worlds
}

func (w world) ownerSteps(i int, r rules, c *record.Claim, step func(string, func(*world) bool)) {
	named := func(what string) string { return fmt.Sprintf("owner %d %s", i, what) }
	step(named("opens"), func(w *world) bool {
		edit, rec, fresh, _ := r.open(c, w.seen(), w.now)
		if fresh {
			again := w.stored != nil && rec.Ref == w.stored.Ref
			w.lastStep.reopened = again
			if !again {
				w.opened, w.given = 0, [len(answers)]bool{}
			}
			w.opened++
			copied := *rec
			w.owners[i] = owner{copy: &copied}
		}
		w.write(edit)
		return fresh || edit.Put != nil
	})
	own := w.owners[i]
	if own.copy == nil {
		return
	}
	for a, result := range answers {
		if own.answer != 0 && own.answer != 1+a { // COMMIT's answer may be lost: it repeats, it does not change its mind
			continue
		}
		step(named(fmt.Sprintf("completes with answer %d", a)), func(w *world) bool {
			edit, _, err := r.complete(own.copy, w.seen(), w.now, result, c.Policy)
			w.owners[i].answer = 1 + a
			w.lastStep.attempt = own.copy.Attempt
			if err != nil {
				w.lastStep.lost = true
				return true
			}
			w.given[a] = true
			w.write(edit)
			return true
		})
	}
	if own.answer != 0 {
		return
	}
	for _, end := range []struct {
		name string
		drop bool
		edit func(w *world) (record.Edit, error)
	}{
		{"extends", false, func(w *world) (record.Edit, error) { return r.extend(own.copy, w.seen(), w.now, lease) }},
		{"loses its answer", true, func(w *world) (record.Edit, error) { return r.lost(own.copy, w.seen()) }},
		{"releases", true, func(w *world) (record.Edit, error) { return r.release(own.copy, w.seen(), c.Policy) }},
	} {
		step(named(end.name), func(w *world) bool {
			edit, err := end.edit(w)
			w.lastStep.attempt = own.copy.Attempt
			if err != nil && !errors.Is(err, record.ErrLeaseLost) {
				panic(err)
			}
			if end.drop {
				w.owners[i] = owner{}
			}
			if err == nil {
				w.write(edit)
			}
			return err == nil || end.drop
		})
	}
}

// seen is what a transaction sees: its own copy, so a transition that changes
// what it was shown is caught by the next one.
func (w *world) seen() record.Seen {
	if w.stored == nil {
		return record.Seen{}
	}
	shown := *w.stored
	return record.Seen{Record: &shown}
}

// write is what an engine does with an edit.
func (w *world) write(edit record.Edit) {
	if edit.Remove {
		w.stored = nil
	}
	if edit.Put != nil {
		put := *edit.Put
		w.stored = &put
	}
}
