package processes

import (
	"strings"
	"testing"
)

// TestJudge: what several processes were told is one history.
func TestJudge(t *testing.T) {
	t.Parallel()
	executed := Call{Client: 1, Key: "key", Request: "this", Token: "a", Called: 1, Ended: 4, Told: "executed", Body: "a"}
	replayed := Call{Client: 2, Key: "key", Request: "this", Token: "b", Called: 2, Ended: 3, Told: "replayed", Body: "a"}
	again := Call{Client: 2, Key: "key", Request: "this", Token: "c", Called: 5, Ended: 6, Told: "executed", Body: "c"}
	open := Call{Client: 3, Key: "key", Request: "this", Token: "d", Called: 1, Ended: 2, Told: "lost"}
	late := Call{Client: 2, Key: "key", Request: "this", Token: "e", Called: 5, Ended: 6, Told: "replayed", Body: "d"}
	for _, tt := range []struct {
		name  string
		calls []Call
		ok    bool
	}{
		{"an effect and its replay", []Call{executed, replayed}, true},
		{"two effects", []Call{executed, replayed, again}, false},
		{"a lost effect, found later", []Call{open, late}, true},
		{"a lost effect, found beside another", []Call{open, executed, late}, false},
	} {
		counts, err := Judge(tt.calls)
		if (err == nil) != tt.ok || counts[tt.calls[0].Told] == 0 {
			t.Errorf("%s: %v, %v", tt.name, counts, err)
		}
		if err != nil && !strings.Contains(err.Error(), "client 2 key") {
			t.Errorf("%s: the calls are not told: %v", tt.name, err)
		}
	}
}
