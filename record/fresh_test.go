package record

import (
	"testing"
	"time"
)

// TestDecideFresh: a key made for this request cannot be a retry, whatever
// stands against late ones.
func TestDecideFresh(t *testing.T) {
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	seen := Seen{Horizon: now.Add(time.Hour), FenceUntil: now.Add(time.Hour), FenceOpen: true}
	timed := "019d0000-0000-7000-8000-000000000000"
	for _, p := range []Policy{{KeyTime: ByShape}, {KeyTime: None}, {KeyTime: Required}, {KeyTime: ByShape, Skew: -1}} {
		for _, key := range []string{"plain", timed, "01ffffff-ffff-7000-8000-000000000000"} {
			if d := Decide(p, seen, Request{Key: key, Fresh: true}, now); d.Action != Execute {
				t.Errorf("%v, key %q: row %s %s, want it executed", p.KeyTime, key, d.Row, d.Problem)
			}
			if d := Decide(p, seen, Request{Key: key}, now); d.Action == Execute && key != "plain" && p.KeyTime != None {
				t.Errorf("%v, key %q: executed without being fresh", p.KeyTime, key)
			}
		}
	}
}
