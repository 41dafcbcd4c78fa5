package refrainhttp_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// lost lets the write happen and loses its answer.
func lost(next func() error) error {
	if err := next(); err != nil {
		return err
	}
	return errGone
}

// nth applies fault to the calls from the first to the last, counted from 1.
func nth(first, last int, fault func(func() error) error) func(func() error) error {
	n := 0
	return func(next func() error) error {
		if n++; first <= n && n <= last {
			return fault(next)
		}
		return next()
	}
}

// TestStoreFaults: at whatever write the store is gone, and whether or not the
// write happened, the handler runs at most one time, the client is told the
// truth, and within one lease every key reaches a way out.
func TestStoreFaults(t *testing.T) {
	t.Parallel()
	const claiming, completing = 1, 2
	for name, tt := range map[string]struct {
		write  func(func() error) error
		load   func() error
		status int          // of the first answer
		expiry bool         // it promises a replay
		runs   int32        // of the first request
		retry  string       // problem of a retry at once, "" for a replay, "fresh" for a run
		after  string       // of a retry one lease later
		state  record.State // one lease later, after that retry
	}{
		"claim refused":               {nth(claiming, 1, gone), nil, 503, false, 0, "fresh", "", record.Confirmed},
		"claim's answer lost":         {nth(claiming, 1, lost), nil, 201, true, 1, "", "", record.Confirmed},
		"completion refused":          {nth(completing, 4, gone), nil, 201, true, 1, "", "", record.Confirmed},
		"completion's answer lost":    {nth(completing, 4, lost), nil, 201, true, 1, "", "", record.Confirmed},
		"completion refused for good": {nth(completing, 99, gone), nil, 201, false, 1, "in-progress", "outcome-unknown", record.Unknown},
		"completion lost for good":    {nth(completing, 99, lost), nil, 201, false, 1, "", "", record.Confirmed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := wrap(t, guard, hasty(), charge)
				s.store.set(tt.write, tt.load)
				res := s.post()
				if promised := res.Header.Get("Idempotency-Expires") != ""; res.StatusCode != tt.status || promised != tt.expiry {
					t.Errorf("first = %d %v", res.StatusCode, res.Header)
				}
				if ref := res.Header.Get("Idempotency-Ref"); (ref != "") != (tt.runs == 1) {
					t.Errorf("ref = %q", ref)
				}
				s.wantRuns(tt.runs)
				s.store.set(nil, nil)
				want := func(kind string) {
					t.Helper()
					switch res := s.post(); kind {
					case "":
						wantReplay(t, res, 201, "charged")
					case "fresh":
						if res.StatusCode != 201 || res.Header.Get("Idempotent-Replayed") != "" {
							t.Errorf("retry = %d %v", res.StatusCode, res.Header)
						}
					default:
						wantProblem(t, res, 409, kind)
					}
				}
				want(tt.retry)
				time.Sleep(30 * time.Second)
				want(tt.after)
				s.wantState(tt.state)
				s.wantRuns(1)
			})
		})
	}
}

// TestStoreGoneAtTheClaim: an error is never taken for an empty lookup, and what
// cannot be claimed does not run.
func TestStoreGoneAtTheClaim(t *testing.T) {
	t.Parallel()
	down := func() error { return errGone }
	for name, tt := range map[string]struct {
		write func(func() error) error
		load  func() error
	}{
		"nothing can be read":                  {nil, down},
		"nothing can be written":               {gone, nil},
		"written, then nothing can be read":    {nth(1, 99, gone), nthLoad(2, down)},
		"answer lost, then nothing to be read": {nth(1, 99, lost), nthLoad(2, down)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := wrap(t, guard, hasty(), charge)
				s.store.set(tt.write, tt.load)
				wantProblem(t, s.post(), 503, "store-unavailable")
				s.wantRuns(0)
				s.store.set(nil, nil)
				time.Sleep(30 * time.Second)
				switch rec := s.record(); {
				case rec == nil:
					if res := s.post(); res.StatusCode != 201 {
						t.Errorf("retry = %d", res.StatusCode)
					}
				default: // the claim may be an owner's that lives: it has become unknown
					wantProblem(t, s.post(), 409, "outcome-unknown")
					s.wantRuns(0)
				}
			})
		})
	}
}

func nthLoad(first int, fault func() error) func() error {
	n := 0
	return func() error {
		if n++; n >= first {
			return fault()
		}
		return nil
	}
}

// TestSlowClaim: a claim that took longer than its lease is nobody's to act on.
func TestSlowClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := wrap(t, guard, hasty(), charge)
		s.store.set(nth(1, 1, func(next func() error) error {
			err := next()
			time.Sleep(31 * time.Second) // of the bubble's clock: the process was stopped
			return err
		}), nil)
		wantProblem(t, s.post(), 503, "store-unavailable")
		s.wantRuns(0)
		s.wantState(0)
	})
}

// TestCompletionsThatCannotBeWritten: a freed or lost outcome is no better off.
func TestCompletionsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 429, 503} {
		synctest.Test(t, func(t *testing.T) {
			c := hasty()
			c.FreeOn = []int{429}
			s := wrap(t, guard, c, answering(status))
			s.store.set(nth(2, 99, gone), nil)
			res := s.post()
			if res.StatusCode != status || res.Header.Get("Idempotency-Ref") == "" || res.Header.Get("Idempotency-Expires") != "" {
				t.Errorf("%d: first = %d %v", status, res.StatusCode, res.Header)
			}
			if !s.saw("9", record.StoreUnavailable) {
				t.Error("the observer was not told")
			}
			s.store.set(nil, nil)
			wantProblem(t, s.post(), 409, "in-progress")
			time.Sleep(30 * time.Second)
			wantProblem(t, s.post(), 409, "outcome-unknown")
			s.wantRuns(1)
		})
	}
}

// TestAnswersOfHopsBehind: the effect is committed, then a hop behind it answers
// 404 or 429, or the first answer is 503: no retry repeats the effect.
func TestAnswersOfHopsBehind(t *testing.T) {
	t.Parallel()
	for first, problem := range map[int]string{404: "", 429: "outcome-unknown", 503: "outcome-unknown", 504: "outcome-unknown"} {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			effects := 0
			s := wrap(t, guard, orders, func(w http.ResponseWriter, r *http.Request) {
				if effects++; effects == 1 {
					w.WriteHeader(first)
					return
				}
				charge(w, r)
			})
			s.post()
			for range 3 {
				if res := s.post(); problem == "" {
					wantReplay(t, res, first, "")
				} else {
					wantProblem(t, res, 409, problem)
				}
			}
			if effects != 1 {
				t.Errorf("effects = %d", effects)
			}
		})
	}
}
