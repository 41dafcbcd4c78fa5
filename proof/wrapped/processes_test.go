//go:build unix

package wrapped

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKilled: at whatever step a process dies, the others tell the truth within
// one lease and nothing runs again that may have happened.
func TestKilled(t *testing.T) {
	over(t, func(t *testing.T, scene func(testing.TB) Setting) {
		for step, want := range map[Step]struct {
			problem string // of a retry; "" for a success
			replay  bool
			effects int // after the retry
		}{
			BeforeClaim:     {"", false, 1},
			InClaim:         {"", false, 1},
			AfterClaim:      {"outcome-unknown", false, 0},
			BeforeEffect:    {"outcome-unknown", false, 0},
			AfterEffect:     {"outcome-unknown", false, 1},
			InCompletion:    {"outcome-unknown", false, 1},
			AfterCompletion: {"", true, 1},
		} {
			t.Run(string(step), func(t *testing.T) {
				t.Parallel()
				s := scene(t)
				other := Start(t, s)
				s.At, s.Signal = step, syscall.SIGKILL
				if a := ask(t, Start(t, s).url); a.err == nil {
					t.Fatalf("the process answered %d %s", a.status, a.body)
				}
				for try := range 3 {
					a := settle(t, other.url)
					if want.problem != "" {
						wantProblem(t, a, 409, want.problem)
					} else {
						wantCharge(t, a, "1", want.replay || try > 0)
					}
				}
				wantEffects(t, s, want.effects)
			})
		}
	})
}

// TestKilledUnderRerun: a handler that is idempotent by itself runs again, with
// a greater fence.
func TestKilledUnderRerun(t *testing.T) {
	over(t, func(t *testing.T, scene func(testing.TB) Setting) {
		s := scene(t)
		s.Rerun = true
		other := Start(t, s)
		s.At, s.Signal = AfterEffect, syscall.SIGKILL
		ask(t, Start(t, s).url)
		wantCharge(t, settle(t, other.url), "1", false)
		wantCharge(t, settle(t, other.url), "1", true)
		wantEffects(t, s, 2) // what the contract admits
		wantFences(t, s)
	})
}

// wantFences: one record, attempts counted, fences rising.
func wantFences(t *testing.T, s Setting) {
	t.Helper()
	var ref string
	var attempt int
	var fence int64
	for i, line := range effects(t, s) {
		part := strings.Split(line, ",")
		n, _ := strconv.Atoi(part[1])
		f, _ := strconv.ParseInt(part[2], 10, 64)
		if i > 0 && part[0] != ref || n <= attempt || f <= fence {
			t.Errorf("effect %q after %q, attempt %d, fence %d", line, ref, attempt, fence)
		}
		ref, attempt, fence = part[0], n, f
	}
}

// TestStopped: a process is stopped longer than its lease and then goes on.
func TestStopped(t *testing.T) {
	over(t, func(t *testing.T, scene func(testing.TB) Setting) {
		for step, want := range map[Step]struct {
			before string // problem of others while it is stopped, "" for their own success
			first  string // of its own client in the end, "" for a success
			late   bool   // its success is a replay of another's
		}{
			BeforeClaim:     {"", "", true},
			AfterClaim:      {"outcome-unknown", "store-unavailable", false}, // provably not begun: given back
			BeforeEffect:    {"outcome-unknown", "", false},
			AfterEffect:     {"outcome-unknown", "", false},
			AfterCompletion: {"", "", false},
		} {
			t.Run(string(step), func(t *testing.T) {
				t.Parallel()
				s := scene(t)
				other := Start(t, s)
				s.At, s.Signal = step, syscall.SIGSTOP
				stopped := Start(t, s)
				first := stopped.untilStopped()
				a := settle(t, other.url)
				if want.before != "" {
					wantProblem(t, a, 409, want.before)
				} else {
					wantCharge(t, a, "1", step == AfterCompletion)
				}
				stopped.Continue()
				if own := <-first; want.first != "" {
					wantProblem(t, own, 503, want.first)
				} else {
					wantCharge(t, own, "1", want.late)
				}
				wantCharge(t, settle(t, other.url), "1", step != AfterClaim)
				wantCharge(t, settle(t, stopped.url), "1", true)
				wantEffects(t, s, 1)
			})
		}
	})
}

// TestTwoOwners: under RerunLost the stopped owner is overtaken. Its answer is
// evidence when it goes on: kept apart where it agrees, disputed where not.
func TestTwoOwners(t *testing.T) {
	over(t, func(t *testing.T, scene func(testing.TB) Setting) {
		for name, charge := range map[string]string{"agreeing": "1", "contradicting": "2"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := scene(t)
				s.Rerun = true
				other := Start(t, s)
				s.Charge, s.At, s.Signal = charge, AfterEffect, syscall.SIGSTOP
				stopped := Start(t, s)
				first := stopped.untilStopped()
				wantCharge(t, settle(t, other.url), "1", false)
				stopped.Continue()
				own := <-first
				wantCharge(t, own, charge, false)
				if own.header.Get("Idempotency-Ref") == "" || own.header.Get("Idempotency-Expires") != "" {
					t.Errorf("the overtaken owner's answer has %v", own.header)
				}
				for _, url := range []string{other.url, stopped.url} {
					if a := settle(t, url); charge == "1" {
						wantCharge(t, a, "1", true)
					} else {
						wantProblem(t, a, 409, "outcome-disputed")
					}
				}
				wantEffects(t, s, 2)
				wantFences(t, s)
			})
		}
	})
}

// TestSkewedClocks: a process whose clock is ahead takes a live lease for past.
// Nothing runs twice for it, and the owner's answer still settles.
func TestSkewedClocks(t *testing.T) {
	over(t, func(t *testing.T, scene func(testing.TB) Setting) {
		for name, skew := range map[string]time.Duration{"owner behind": -10 * time.Minute, "owner ahead": 10 * time.Minute} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := scene(t)
				s.Skew = -skew
				other := Start(t, s)
				s.Skew, s.At, s.Signal = skew, AfterEffect, syscall.SIGSTOP
				owner := Start(t, s)
				first := owner.untilStopped()
				want := map[bool]string{true: "outcome-unknown", false: "in-progress"}[skew < 0]
				for range 3 {
					wantProblem(t, ask(t, other.url), 409, want)
				}
				owner.Continue()
				wantCharge(t, <-first, "1", false)
				wantCharge(t, settle(t, other.url), "1", true)
				wantCharge(t, settle(t, owner.url), "1", true)
				wantEffects(t, s, 1)
			})
		}
	})
}

// TestFenceOfSkewedClocks rises although the second owner's clock is behind.
func TestFenceOfSkewedClocks(t *testing.T) {
	over(t, func(t *testing.T, scene func(testing.TB) Setting) {
		s := scene(t)
		s.Rerun = true
		s.Skew = 10 * time.Minute
		ahead := Start(t, s)
		s.Skew, s.At, s.Signal = -10*time.Minute, AfterEffect, syscall.SIGKILL
		ask(t, Start(t, s).url)
		wantCharge(t, settle(t, ahead.url), "1", false)
		wantEffects(t, s, 2)
		wantFences(t, s)
	})
}
