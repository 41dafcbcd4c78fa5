//go:build linux

package charges

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/fakeprovider"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// tally counts how operations ended.
type tally struct {
	mu                                                           sync.Mutex
	all, confirmed, rejected, unknown, disputed, twice, answered int
}

func (s *tally) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == 0 {
		return ""
	}
	return fmt.Sprintf("%d payments, %d answers: %d confirmed, %d rejected, %d unknown, %d disputed; %d charged twice",
		s.all, s.answered, s.confirmed, s.rejected, s.unknown, s.disputed, s.twice)
}

// check compares, for each order, what the bank counted with what the store and
// the clients know. w still serves, and nothing else is under way.
func (x *trial) check(w *worker) {
	x.Helper()
	cases, err := x.desk.cases(x.Context(), 1000)
	if err != nil {
		x.Fatal(err)
	}
	made := 0
	for _, o := range x.orders {
		op, there := x.operation(o)
		if !there {
			x.Errorf("%s has no operation", o)
			continue
		}
		known := x.bank.Report(op.Key)
		made += len(known.Charges)
		x.outcome(o, op, known)
		x.charges(o, op, known)
		x.shown(o, op, cases)
		x.rows(o, op)
		x.clients(w, o, op, known)
		x.count(o, op, known)
	}
	if all := len(x.bank.Charges()); all != made {
		x.Errorf("%d charges, %d of them under the operations' keys", all, made)
	}
	if x.Failed() {
		x.Logf("%s, %s: paused %v", x.Engine, x.kind.name, x.paused)
	}
}

// beyond reports whether a worker was paused for longer than the declared margin.
func (x *trial) beyond() bool { return x.paused > x.Margin }

// outcome: no operation is settled wrongly, and what machines can settle is.
func (x *trial) outcome(o *order, op operation.Operation, known fakeprovider.Report) {
	x.Helper()
	reference := func(c fakeprovider.Charge) bool { return c.ID == op.Answer.Reference }
	mayHaveLeft := op.Dropped.MayHaveLeft > 0 || slices.ContainsFunc(op.Attempts, func(a operation.Attempt) bool {
		return a.End == operation.Lost || a.End == operation.Open
	})
	switch op.State {
	case record.Confirmed:
		if !slices.ContainsFunc(known.Charges, reference) {
			x.Errorf("%s is confirmed as %q, the bank has %+v", o, op.Answer.Reference, known)
		}
	case record.Rejected:
		if len(known.Charges) > 0 && !op.Disputed {
			x.Errorf("%s is rejected (%s), the bank has %+v", o, op.Why, known)
		}
	case record.Unknown:
		if !mayHaveLeft {
			x.Errorf("%s is unknown and nothing may have left: %+v", o, op.Attempts)
		}
		switch {
		case x.Skew < 0 && x.kind.dedupes: // its window seems to have ended: a person is asked too early
		case x.kind.dedupes && x.Window == window, x.kind.final:
			x.Errorf("%s is unknown (%s), and could be submitted again", o, op.Why)
		case x.kind.queries && known.State != fakeprovider.NotFound:
			x.Errorf("%s is unknown (%s), and the bank knows of it: %+v", o, op.Why, known)
		}
	default:
		x.Errorf("%s is %s (%s)", o, op.State, op.Why)
	}
}

// charges: how often the bank may have been asked to act, and has acted.
func (x *trial) charges(o *order, op operation.Operation, known fakeprovider.Report) {
	x.Helper()
	arrived, _ := x.bank.count(op.Key)
	switch n := len(known.Charges); {
	case n > 0 && o.declined():
		x.Errorf("%s was declined, and charged: %+v", o, known.Charges)
	case !x.kind.dedupes && !x.kind.final && arrived > 1:
		x.Errorf("%s reached the bank %d times, which %s: %+v", o, arrived, x.kind.name, op.Attempts)
	case n > 1 && !x.beyond():
		x.Errorf("%s was charged %d times, and no pause was beyond the margin: %+v", o, n, op.Attempts)
	case heard(op) > 1 && !op.Disputed:
		x.Errorf("%s was charged %d times, as both answers say, which is not disputed: %+v", o, n, op)
	case n < 2 && op.Disputed:
		x.Errorf("%s is disputed (%s), the bank has %+v", o, op.Why, known)
	}
}

// heard is how many effects the answers tell of that are known.
func heard(op operation.Operation) int {
	references := make(map[string]bool)
	for _, r := range op.Evidence {
		if r.End == operation.Confirmed {
			references[r.Reference] = true
		}
	}
	if op.Answer != nil && op.Answer.End == operation.Confirmed {
		references[op.Answer.Reference] = true
	}
	return len(references)
}

// shown: what is not settled is shown to a person, with its age and the reason.
func (x *trial) shown(o *order, op operation.Operation, cases []external.Case) {
	x.Helper()
	i := slices.IndexFunc(cases, func(c external.Case) bool { return c.Operation.Ref == op.Ref })
	switch open := op.State == record.Unknown || op.Disputed; {
	case open != (i >= 0):
		x.Errorf("%s is %s, disputed %t; among the cases: %t", o, op.State, op.Disputed, i >= 0)
	case open && (cases[i].Operation.Why == "" || cases[i].Age <= 0 && x.Skew == 0):
		x.Errorf("%s is shown with age %v and reason %q", o, cases[i].Age, cases[i].Operation.Why)
	}
}

// rows: the record and the business row stand where the operation stands.
func (x *trial) rows(o *order, op operation.Operation) {
	x.Helper()
	rec, err := x.desk.find(x.Context(), op.Action)
	if err != nil || rec.State != op.State || rec.Disputed != op.Disputed {
		x.Errorf("the record of %s is %s, disputed %t, its operation %s, %t: %v", o, rec.State, rec.Disputed, op.State, op.Disputed, err)
	}
	state, reference, settled, err := x.desk.row(x.Context(), x.own, op.Action)
	want, times, as := "pending", 0, ""
	if op.State.Final() {
		want, times, as = op.State.String(), 1, op.Answer.Reference
	}
	if err != nil || state != want || settled != times || reference != as {
		x.Errorf("the payment of %s is %s %q, written %d times, its operation is %s: %v", o, state, reference, settled, op.State, err)
	}
}

// clients were told nothing but the truth, the same bytes each time, and are.
func (x *trial) clients(w *worker, o *order, op operation.Operation, known fakeprovider.Report) {
	x.Helper()
	for range 2 {
		a := x.post(w, o)
		want := answer{status: http.StatusConflict, problem: "outcome-unknown"}
		switch {
		case op.Disputed:
			want.problem = "outcome-disputed"
		case op.State == record.Confirmed:
			want = answer{status: http.StatusCreated}
		case op.State == record.Rejected:
			want = answer{status: http.StatusPaymentRequired}
		}
		if a.err != nil || a.status != want.status || a.problem != want.problem || a.final() != a.replayed {
			x.Errorf("%s is %s, disputed %t, and the client is told %v, replayed %t", o, op.State, op.Disputed, a, a.replayed)
		}
	}
	first := ""
	for _, a := range o.told {
		charged := slices.ContainsFunc(known.Charges, func(c fakeprovider.Charge) bool { return strings.Contains(a.body, `"`+c.ID+`"`) })
		switch {
		case a.err != nil || a.status == http.StatusConflict || a.status == http.StatusServiceUnavailable:
			continue
		case a.status == http.StatusAccepted && (a.state() == "accepted" || a.state() == "submitted" || a.state() == "unknown"):
			continue
		case a.status == http.StatusCreated && !charged, a.status == http.StatusPaymentRequired && !o.declined():
			x.Errorf("%s was told %v, the bank has %+v", o, a, known)
		case !a.final():
			x.Errorf("%s was told %v", o, a)
		case first != "" && a.body != first:
			x.Errorf("%s was told %q and then %q", o, first, a.body)
		}
		first = a.body
	}
}

func (x *trial) count(o *order, op operation.Operation, known fakeprovider.Report) {
	x.seen.mu.Lock()
	defer x.seen.mu.Unlock()
	x.seen.all++
	x.seen.answered += len(o.told)
	switch op.State {
	case record.Confirmed:
		x.seen.confirmed++
	case record.Rejected:
		x.seen.rejected++
	default:
		x.seen.unknown++
	}
	if op.Disputed {
		x.seen.disputed++
	}
	if len(known.Charges) > 1 {
		x.seen.twice++
	}
}

// wait is a pause that is the subject itself.
func (x *trial) wait(d time.Duration) { <-time.After(d) }
