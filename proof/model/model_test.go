package model

import (
	"os"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// depth of the walk; the heavy form goes further.
func depth() int {
	switch os.Getenv("REFRAIN_PROOF") {
	case "full":
		return 12
	case "1":
		return 10
	}
	return 8
}

// TestWalk: no interleaving within the depth breaks an invariant, and the walk
// meets every state there is.
func TestWalk(t *testing.T) {
	t.Parallel()
	for name, rerun := range map[string]bool{"nothing runs again": false, "lost outcomes run again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := walk(sound(), rerun, depth())
			t.Logf("%s: depth %d, %d worlds by %d steps: %v", name, depth(), all.worlds, all.steps, all.states)
			if all.fault != "" {
				t.Error(all.fault)
			}
			for _, state := range []string{"none", "submitted", "unknown", "confirmed", "rejected", "disputed"} {
				if all.states[state] == 0 {
					t.Errorf("no world with a record that is %s", state)
				}
			}
		})
	}
}

// TestPlantedFaults: the walk finds a way to each of them.
func TestPlantedFaults(t *testing.T) {
	t.Parallel()
	// mine makes an owner's copy look like the newest attempt.
	mine := func(own *record.Record, seen record.Seen) *record.Record {
		pretender := *own
		if seen.Record != nil {
			pretender.Attempt = seen.Record.Attempt
		}
		return &pretender
	}
	for _, fault := range []struct {
		name  string
		rerun bool
		plant func(r *rules)
	}{
		{"complete without comparing attempts", true, func(r *rules) {
			r.complete = func(own *record.Record, seen record.Seen, now time.Time, result record.Result, p record.Policy) (record.Edit, *record.Record, error) {
				return mine(own, seen).Complete(seen, now, result, p)
			}
		}},
		{"complete over a final state", false, func(r *rules) {
			r.complete = func(own *record.Record, seen record.Seen, now time.Time, result record.Result, p record.Policy) (record.Edit, *record.Record, error) {
				next := *seen.Record
				next.Settle(result, now, p)
				return record.Edit{Put: &next}, &next, nil
			}
		}},
		{"extend without comparing attempts", true, func(r *rules) {
			r.extend = func(own *record.Record, seen record.Seen, now time.Time, lease time.Duration) (record.Edit, error) {
				return mine(own, seen).Extend(seen, now, lease)
			}
		}},
		{"release without comparing attempts", true, func(r *rules) {
			r.release = func(own *record.Record, seen record.Seen, p record.Policy) (record.Edit, error) {
				return mine(own, seen).Release(seen, p)
			}
		}},
		{"a later attempt's release frees the identity", true, func(r *rules) {
			r.release = func(own *record.Record, seen record.Seen, p record.Policy) (record.Edit, error) {
				_, err := own.Release(seen, p)
				return record.Edit{Remove: err == nil}, err
			}
		}},
		{"evidence is overwritten", true, func(r *rules) {
			r.complete = func(own *record.Record, seen record.Seen, now time.Time, result record.Result, p record.Policy) (record.Edit, *record.Record, error) {
				edit, settled, err := own.Complete(seen, now, result, p)
				if edit.Put != nil && len(edit.Put.Evidence) > 1 {
					edit.Put.Evidence = edit.Put.Evidence[len(edit.Put.Evidence)-1:]
				}
				return edit, settled, err
			}
		}},
		{"evidence is dropped", true, func(r *rules) {
			r.complete = func(own *record.Record, seen record.Seen, now time.Time, result record.Result, p record.Policy) (record.Edit, *record.Record, error) {
				edit, settled, err := own.Complete(seen, now, result, p)
				if edit.Put != nil {
					edit.Put.Evidence = nil
				}
				return edit, settled, err
			}
		}},
		{"late answers are refused", true, func(r *rules) {
			r.complete = func(own *record.Record, seen record.Seen, now time.Time, result record.Result, p record.Policy) (record.Edit, *record.Record, error) {
				if rec := seen.Record; rec != nil && rec.Attempt != own.Attempt {
					return record.Edit{}, nil, record.ErrLeaseLost
				}
				return own.Complete(seen, now, result, p)
			}
		}},
		{"one answer is disputed", false, func(r *rules) {
			r.complete = func(own *record.Record, seen record.Seen, now time.Time, result record.Result, p record.Policy) (record.Edit, *record.Record, error) {
				edit, settled, err := own.Complete(seen, now, result, p)
				if edit.Put != nil {
					edit.Put.Disputed = true
				}
				return edit, settled, err
			}
		}},
		{"an unknown outcome runs again", false, func(r *rules) {
			r.open = func(c *record.Claim, seen record.Seen, now time.Time) (record.Edit, *record.Record, bool, error) {
				rerunning := *c
				rerunning.Policy.Rerun = true
				return rerunning.Open(seen, now)
			}
		}},
		{"a live attempt is taken over", true, func(r *rules) {
			r.open = func(c *record.Claim, seen record.Seen, now time.Time) (record.Edit, *record.Record, bool, error) {
				return c.Open(seen, now.Add(lease))
			}
		}},
		{"the fence is the clock's", true, func(r *rules) {
			r.open = func(c *record.Claim, seen record.Seen, now time.Time) (record.Edit, *record.Record, bool, error) {
				edit, rec, fresh, err := c.Open(seen, now)
				if fresh {
					rec.Fence = now.UnixMicro()
				}
				return edit, rec, fresh, err
			}
		}},
		{"the reader writes what it looked up", false, func(r *rules) { r.stale = true }},
		{"a lost attempt takes a final state back", true, func(r *rules) {
			r.lost = func(own *record.Record, seen record.Seen) (record.Edit, error) {
				if seen.Record == nil {
					return record.Edit{}, record.ErrLeaseLost
				}
				next := *seen.Record
				next.State = record.Unknown
				return record.Edit{Put: &next}, nil
			}
		}},
		{"a correction forgets what it overrules", true, func(r *rules) {
			r.resolve = func(seen record.Seen, now time.Time, result record.Result, p record.Policy, by, reason string) (record.Edit, error) {
				edit, err := record.Resolve(seen, now, result, p, by, reason)
				if edit.Put != nil {
					edit.Put.Evidence = seen.Record.Evidence
				}
				return edit, err
			}
		}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			r := sound()
			fault.plant(&r)
			all := walk(r, fault.rerun, 8)
			if all.fault == "" {
				t.Fatalf("not found in %d worlds", all.worlds)
			}
			t.Log(all.fault)
		})
	}
}
