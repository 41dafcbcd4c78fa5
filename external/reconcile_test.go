package external_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// unanswered lets every submission arrive and be lost.
func unanswered(d *depot) {
	d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
		d.carrier.arrive(s)
		return lost
	}
}

func TestAskFindsIt(t *testing.T) {
	t.Parallel()
	for name, found := range map[string]struct {
		reply operation.Reply
		state record.State
	}{
		"confirmed": {confirmed("found"), record.Confirmed},
		"refused":   {operation.Reply{End: operation.Refused}, record.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, d *depot) {
				d.carrier.terms = operation.Terms{Queries: true}
				unanswered(d)
				d.carrier.query = func(_ context.Context, n int) (operation.Finding, error) {
					switch n {
					case 1:
						return operation.Finding{}, errors.New("503")
					case 2:
						panic("half an answer")
					case 3:
						return operation.Finding{Found: true, Pending: true}, nil
					}
					return operation.Finding{Found: true, Reply: found.reply}, nil
				}
				d.start()
				o := d.accept("k")
				pass(time.Minute)
				d.want(o.Ref, found.state)
				if calls, asked := d.carrier.count(); calls != 1 || asked != 4 {
					t.Errorf("%d submissions, %d questions", calls, asked)
				}
			})
		})
	}
}

// TestNotFound: what the provider does not know is submitted again inside its
// window, and never after it.
func TestNotFound(t *testing.T) {
	t.Parallel()
	unknown := func(context.Context, int) (operation.Finding, error) { return operation.Finding{}, nil }
	t.Run("inside the window", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, d *depot) {
			d.carrier.terms.Queries = true
			d.carrier.query = unknown
			d.carrier.answer = func(_ context.Context, n int, s external.Submission) operation.Reply {
				if n == 1 {
					d.carrier.arrive(s)
					return lost
				}
				return d.carrier.send(s)
			}
			d.start()
			o := d.accept("k")
			pass(time.Minute)
			wantEnds(t, d.want(o.Ref, record.Confirmed), operation.Lost, operation.Confirmed)
			if _, asked := d.carrier.count(); asked != 1 {
				t.Errorf("asked %d times", asked)
			}
		})
	})
	t.Run("past the window", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, d *depot) {
			d.carrier.terms = operation.Terms{Queries: true, Dedupes: true, DedupesFor: 2 * time.Minute}
			d.step.Pace = operation.Pace{First: 3 * time.Minute, Most: 10 * time.Minute}
			d.carrier.query = unknown
			unanswered(d)
			d.start()
			o := d.accept("k")
			pass(24 * time.Hour)
			d.want(o.Ref, record.Unknown)
			calls, asked := d.carrier.count()
			if calls != 1 || asked < 100 || asked > 400 {
				t.Errorf("%d submissions and %d questions in a day", calls, asked)
			}
			d.carrier.from(nil, func(context.Context, int) (operation.Finding, error) {
				return operation.Finding{Found: true, Reply: confirmed("after all")}, nil
			})
			pass(10 * time.Minute)
			d.want(o.Ref, record.Confirmed)
		})
	})
	t.Run("proven", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, d *depot) {
			d.carrier.terms = operation.Terms{Queries: true, NotFoundFinalAfter: time.Hour}
			d.carrier.query = unknown
			d.carrier.answer = func(_ context.Context, n int, s external.Submission) operation.Reply {
				if n == 1 {
					d.carrier.arrive(s)
					return lost
				}
				return d.carrier.send(s)
			}
			d.start()
			o := d.accept("k")
			pass(59 * time.Minute)
			d.want(o.Ref, record.Unknown)
			pass(3 * time.Hour)
			wantEnds(t, d.want(o.Ref, record.Confirmed), operation.Void, operation.Confirmed)
		})
	})
}

// TestAnswerToAnOldQuestion: "not found" proves nothing about an attempt that came
// after the question.
func TestAnswerToAnOldQuestion(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.terms.Queries = true
		d.step.Pace.First = time.Minute
		unanswered(d)
		door, open := d.door()
		d.carrier.query = func(_ context.Context, n int) (operation.Finding, error) {
			switch n {
			case 1:
				<-door // deaf to its context
			case 2:
			default:
				return operation.Finding{}, errors.New("503")
			}
			return operation.Finding{}, nil
		}
		d.start()
		o := d.accept("k")
		for calls := 0; calls < 2; calls, _ = d.carrier.count() {
			pass(time.Second)
		}
		open()
		pass(5 * time.Second)
		o = d.want(o.Ref, record.Unknown)
		if calls, _ := d.carrier.count(); calls != 2 || !o.NotFound.IsZero() {
			t.Errorf("%d submissions, not found at %v", calls, o.NotFound)
		}
	})
}

func TestBudgetParks(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.step.Pace.Budget, d.options.Poll = 3, time.Minute
		unanswered(d)
		d.start()
		o := d.accept("k")
		pass(48 * time.Hour)
		o = d.want(o.Ref, record.Unknown)
		if calls, _ := d.carrier.count(); calls != 3 || !o.Due.IsZero() || !strings.Contains(o.Why, "budgeted") || d.seen.count(external.Parked) != 1 {
			t.Errorf("%d submissions, due %v, %q", calls, o.Due, o.Why)
		}
		d.carrier.from(nil, nil)
		if err := d.runner.Resume(t.Context(), external.By{Who: "ops", Why: "the carrier is back"}, o.Ref); !errors.Is(err, operation.ErrWindowOver) {
			t.Errorf("resumed past the window: %v", err)
		}
	})
}

func TestResume(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.step.Pace.Budget = 2
		d.carrier.answer = func(context.Context, int, external.Submission) operation.Reply {
			return operation.Reply{End: operation.NotSent, Note: "connection refused"}
		}
		d.start()
		o := d.accept("k")
		pass(time.Hour)
		d.want(o.Ref, record.Accepted)
		cases, err := d.runner.Cases(t.Context(), 0)
		if err != nil || len(cases) != 1 || !cases[0].Parked || cases[0].Age != time.Hour || cases[0].Operation.Why == "" {
			t.Fatalf("cases %+v, %v", cases, err)
		}
		d.carrier.from(nil, nil)
		if err := d.runner.Resume(t.Context(), external.By{Who: "ops", Why: "the carrier is back"}, o.Ref); err != nil {
			t.Fatal(err)
		}
		pass(50 * time.Millisecond)
		d.want(o.Ref, record.Confirmed)
	})
}

// TestDispute: two confirmations of two effects are told to everybody until a
// person has decided.
func TestDispute(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		door, open := d.door()
		d.carrier.answer = func(_ context.Context, n int, s external.Submission) operation.Reply {
			d.carrier.arrive(s)
			if n == 1 {
				<-door
				return confirmed("first")
			}
			return confirmed("second")
		}
		d.start()
		o := d.accept("k")
		pass(50 * time.Millisecond)
		d.store.set(func() error { return errDown }, nil)
		d.run(d.anotherOn(d.db.Operations()))
		pass(time.Minute)
		d.want(o.Ref, record.Confirmed)
		d.store.set(nil, nil)
		open()
		pass(time.Second)
		o = d.want(o.Ref, record.Confirmed)
		if !o.Disputed || !d.record(o).Disputed || d.seen.count(external.Disputed) != 1 {
			t.Fatalf("no dispute: %+v\n%s", o, d.seen)
		}
		if _, err := d.ship("k"); !errors.Is(err, refrain.ErrOutcomeDisputed) {
			t.Errorf("a repeat meanwhile: %v", err)
		}
		cases, err := d.runner.Cases(t.Context(), 10)
		if err != nil || len(cases) != 1 || !cases[0].Operation.Disputed {
			t.Errorf("cases %+v, %v", cases, err)
		}
		if err := d.runner.Decide(t.Context(), external.By{Who: "ops", Why: "second was undone"}, o.Ref, confirmed("first")); err != nil {
			t.Fatal(err)
		}
		again, err := d.ship("k")
		if err != nil || again.Value != "shipped first" {
			t.Errorf("after the decision: %+v, %v", again, err)
		}
		if rec := d.record(o); rec.Disputed || len(rec.Evidence) != 1 {
			t.Errorf("record %+v", rec)
		}
	})
}

// TestAcceptedBeforeALoss: what a restored store takes for untouched may have been
// submitted by the one that was lost.
func TestAcceptedBeforeALoss(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		terms operation.Terms
		state record.State
		sent  int
	}{
		"the provider promises nothing": {operation.Terms{}, record.Unknown, 0},
		"it recognises the key":         {safe, record.Confirmed, 1},
		"it did, an hour ago":           {operation.Terms{Dedupes: true, DedupesFor: time.Hour}, record.Unknown, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, d *depot) {
				d.carrier.terms = tt.terms
				d.step.Within = time.Hour // nobody may say that nothing was sent
				d.runner = d.another()
				before := d.accept("before")
				pass(2 * time.Hour)
				fence, err := d.db.SetFence(t.Context(), upkeep.Fence{Until: time.Now(), By: "ops", Reason: "restored"})
				if err == nil {
					err = d.db.EndFence(t.Context(), fence, "ops", "reviewed")
				}
				if err != nil {
					t.Fatal(err)
				}
				pass(time.Minute)
				d.start()
				after := d.accept("after")
				pass(time.Minute)
				d.want(before.Ref, tt.state)
				d.want(after.Ref, record.Confirmed)
				if n, _ := d.carrier.count(); n-1 != tt.sent {
					t.Errorf("%d submissions of what was there before, want %d", n-1, tt.sent)
				}
			})
		})
	}
}
