package external

import (
	"fmt"
	"slices"
	"strings"
)

// tally is what a walk met.
type tally struct {
	worlds, steps int
	states        map[string]int // worlds by the operation's state
	charges       int            // the most there were
	doubled       int            // worlds with two charges that are disputed
	fault         string         // of the first step that broke an invariant, with the way to it; "" if none did
}

// way is a step and those before it.
type way struct {
	step step
	from *way
}

func (w *way) String() string {
	var steps []string
	for ; w != nil; w = w.from {
		steps = append(steps, w.step.String())
	}
	slices.Reverse(steps)
	return strings.Join(steps, "\n  ")
}

// walk visits every world within depth steps of the first, each once; came is
// the way to the first.
func (m *model) walk(first world, came *way, depth int) tally {
	type visit struct {
		world world
		way   *way
	}
	met := map[string]bool{first.key(m.rules.blind): true}
	all := tally{worlds: 1, states: map[string]int{stateOf(&first): 1}}
	for level := []visit{{first, came}}; depth > 0 && len(level) > 0; depth-- {
		var below []visit
		for i := range level {
			v := &level[i]
			for _, after := range m.next(&v.world) {
				all.steps++
				reached := &way{after.lastStep, v.way}
				if wrong := m.broken(&v.world, &after); wrong != "" {
					all.fault = fmt.Sprintf("%s:\n  %v", wrong, reached)
					return all
				}
				k := after.key(m.rules.blind)
				if met[k] {
					continue
				}
				met[k] = true
				all.meet(&after)
				below = append(below, visit{after, reached})
			}
		}
		level = below
	}
	return all
}

func (t *tally) meet(w *world) {
	t.worlds++
	t.states[stateOf(w)]++
	t.charges = max(t.charges, w.provider.charges)
	if w.provider.charges > 1 && w.stored.Disputed {
		t.doubled++
	}
}

func stateOf(w *world) string {
	if w.stored.Disputed {
		return "disputed"
	}
	return w.stored.State.String()
}

func (t *tally) add(other tally) {
	t.worlds += other.worlds
	t.steps += other.steps
	t.charges = max(t.charges, other.charges)
	t.doubled += other.doubled
	for state, n := range other.states {
		t.states[state] += n
	}
}
