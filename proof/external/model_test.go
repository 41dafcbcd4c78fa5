package external

import (
	"os"
	"testing"
)

// depth of a walk from each start; the heavy forms go further.
func depth() int {
	switch os.Getenv("REFRAIN_PROOF") {
	case "full":
		return 9
	case "1":
		return 6
	}
	return 5
}

// TestWalk: no interleaving within the depth breaks an invariant, for no kind of
// provider, and the walks meet what they are to meet: every state, and where a
// pause is longer than the margin a second charge that is disputed.
func TestWalk(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		for _, beyond := range []bool{false, true} {
			name := k.name + ", pauses within the margin"
			if beyond {
				name = k.name + ", pauses beyond the margin"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := &model{kind: k, rules: sound(), beyond: beyond}
				all := tally{states: map[string]int{}}
				from := 0
				for _, s := range starts {
					first, came, err := m.at(s)
					if err != nil {
						continue // not with this provider; TestStarts sees to the others
					}
					from++
					one := m.walk(first, came, depth())
					if one.fault != "" {
						t.Fatalf("from %q: %s", s.name, one.fault)
					}
					all.add(one)
				}
				t.Logf("depth %d from %d starts, %d worlds by %d steps: %v, at most %d charges, two of them disputed in %d",
					depth(), from, all.worlds, all.steps, all.states, all.charges, all.doubled)
				for _, state := range []string{"accepted", "submitted", "unknown", "confirmed", "rejected", "disputed"} {
					if all.states[state] == 0 {
						t.Errorf("no world with an operation that is %s", state)
					}
				}
				if twice := k.terms.AtLeastOnce || beyond && k.repeats(); (all.charges > 1) != twice {
					t.Errorf("at most %d charges", all.charges)
				}
				if beyond && k.repeats() && all.doubled == 0 {
					t.Error("two charges are disputed in no world")
				}
			})
		}
	}
}

// TestStarts: each can be come to with some provider, and each provider's terms
// are ones that can be declared.
func TestStarts(t *testing.T) {
	t.Parallel()
	come := map[string]int{}
	for _, k := range kinds {
		if err := k.terms.Validate(); err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
		for _, s := range starts {
			m := &model{kind: k, rules: sound()}
			if _, _, err := m.at(s); err == nil {
				come[s.name]++
			}
		}
	}
	for _, s := range starts {
		if come[s.name] == 0 {
			t.Errorf("%q: no provider has it", s.name)
		}
	}
}
