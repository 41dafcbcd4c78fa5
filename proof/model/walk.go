package model

import (
	"fmt"
	"strings"

	"github.com/refrain-dev/refrain/record"
)

// tally is what a walk met.
type tally struct {
	worlds, steps int
	states        map[string]int // worlds by the stored record's state
	fault         string         // of the first step that broke an invariant, with the way to it; "" if none did
}

// walk visits every world within depth steps of the empty store, each once.
func walk(r rules, rerun bool, depth int) tally {
	type visit struct {
		world world
		from  *visit
	}
	c := claim(rerun)
	begin := &visit{world: world{now: epoch}}
	met := map[key]bool{begin.world.key(): true}
	all := tally{worlds: 1, states: map[string]int{"none": 1}}
	for level := []*visit{begin}; depth > 0; depth-- {
		var below []*visit
		for _, v := range level {
			for _, after := range v.world.next(r, c) {
				all.steps++
				reached := &visit{after, v}
				if wrong := broken(&v.world, &after, rerun); wrong != "" {
					var way []string
					for at := reached; at.from != nil; at = at.from {
						way = append([]string{at.world.lastStep.name}, way...)
					}
					all.fault = fmt.Sprintf("%s:\n  %s", wrong, strings.Join(way, "\n  "))
					return all
				}
				if k := after.key(); !met[k] {
					met[k] = true
					all.worlds++
					all.states[stateOf(after.stored)]++
					below = append(below, reached)
				}
			}
		}
		level = below
	}
	return all
}

func stateOf(r *record.Record) string {
	switch {
	case r == nil:
		return "none"
	case r.Disputed:
		return "disputed"
	}
	return r.State.String()
}

// broken names the invariant a step broke, or "".
func broken(before, after *world, rerun bool) string {
	was, is := before.stored, after.stored
	final := was != nil && was.State.Final()
	did := after.lastStep
	switch {
	case final && is == nil:
		return "a final record is gone"
	case final && !did.operator && (is.Ref != was.Ref || is.State != was.State || !same(is.Result, was.Result) || !is.Final.Equal(was.Final)):
		return "a final state flips without an operator"
	case final && is.RememberUntil.Before(was.RememberUntil):
		return "a memory gets shorter"
	case final && was.Disputed && !is.Disputed && !did.operator:
		return "a dispute ends without an operator"
	case is != nil && is.Disputed && after.answersGiven() < 2:
		return "disputed without two answers that contradict each other"
	case is != nil && is.State.Final() && after.answersGiven() == 0:
		return "final without an answer"
	case did.reopened && !rerun:
		return "an attempt is reopened although nothing may run again"
	case did.reopened && was.State == record.Submitted && before.now.Before(was.Lease):
		return "an attempt is opened beside a live one"
	case did.reopened && is.Fence <= was.Fence:
		return "the fence does not rise"
	case !rerun && after.opened > 1:
		return "two attempts of one record"
	case did.attempt != 0 && was != nil && did.attempt != was.Attempt && (is == nil || is.State != was.State || !is.Lease.Equal(was.Lease)):
		return "an earlier attempt's owner decides about the newer one"
	case did.lost:
		return "an owner's answer is refused"
	}
	for i, given := range after.given {
		if given && !answers[i].Rejected && !holds(is, answers[i]) {
			return fmt.Sprintf("the confirmed answer %d is lost", i)
		}
	}
	return ""
}

// answersGiven counts the different answers the stored record was given.
func (w *world) answersGiven() (n int) {
	for _, given := range w.given {
		if given {
			n++
		}
	}
	return n
}
