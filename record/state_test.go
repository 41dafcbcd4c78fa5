package record

import "testing"

func TestState(t *testing.T) {
	t.Parallel()
	names := []string{"accepted", "submitted", "unknown", "confirmed", "rejected"}
	for i, name := range names {
		state, ok := ParseState(name)
		if !ok || state.String() != name {
			t.Errorf("ParseState(%q) = %v, %t", name, state, ok)
		}
		// The numbers are stored.
		if int(state) != i+1 {
			t.Errorf("%s is %d, want %d", name, state, i+1)
		}
		if final := name == "confirmed" || name == "rejected"; state.Final() != final {
			t.Errorf("%s.Final() = %t", name, !final)
		}
	}
	for _, text := range []string{"", "invalid", "Accepted", "done", "confirmed "} {
		if state, ok := ParseState(text); ok || state != 0 {
			t.Errorf("ParseState(%q) = %v, %t", text, state, ok)
		}
	}
	for _, state := range []State{0, 6, 255} {
		if state.String() != "invalid" || state.Final() {
			t.Errorf("state %d is %s, final %t", state, state, state.Final())
		}
	}
}
