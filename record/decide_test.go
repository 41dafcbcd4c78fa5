package record

import (
	"reflect"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/fingerprint"
)

// now is the store's time in these tests; born keys are made around it.
var now = time.Date(2026, 3, 14, 9, 26, 53, 589793000, time.UTC)

const skew = 5 * time.Minute

func policy() Policy {
	return Policy{
		ReplayFor: time.Hour, RememberFor: 24 * time.Hour, Skew: skew,
		MaxExecution: 30 * time.Second, CommitWait: 10 * time.Second, Wait: 2 * time.Second,
		MaxWaiters: 1000, MaxResult: 1 << 20,
	}
}

func printOf(input string) fingerprint.Print {
	p, err := fingerprint.Bytes(fingerprint.RuleRaw, "1", []byte(input))
	if err != nil {
		panic(err)
	}
	return p
}

// request is the one every known record of these tests remembers.
func request() Request { return Request{Key: "untimed-key", Print: printOf("order")} }

// timedAt gives the request a UUIDv7 born at t.
func timedAt(t time.Time) Request {
	r := request()
	r.Key = uuidv7(t)
	return r
}

func uuidv7(t time.Time) string {
	const digits = "0123456789abcdef"
	b := []byte("00000000-0000-7000-8000-000000000001")
	for ms, i := t.UnixMilli(), 12; i >= 0; i-- {
		if i != 8 {
			b[i] = digits[ms&15]
			ms >>= 4
		}
	}
	return string(b)
}

func receipt(result Result) *Record {
	rec := &Record{Ref: NewRef(now), Version: 1, Format: Format, Print: printOf("order"), Attempt: 1}
	rec.Settle(result, now.Add(-time.Minute), policy())
	return rec
}

func unfinished(state State) *Record {
	return &Record{Ref: NewRef(now), Version: 1, Format: Format, State: state, Print: printOf("order"), Attempt: 1}
}

func submitted(lease time.Time) *Record {
	rec := unfinished(Submitted)
	rec.Lease = lease
	return rec
}

func with(rec *Record, change func(*Record)) *Record {
	change(rec)
	return rec
}

func disputed(rec *Record) *Record { return with(rec, func(r *Record) { r.Disputed = true }) }

type decideCase struct {
	name   string
	policy func(*Policy)
	seen   Seen
	req    Request
	want   Decision
}

func refusal(row string, problem Problem) Decision {
	return Decision{Row: row, Action: Refuse, Problem: problem}
}

func waiting(row string) Decision { return Decision{Row: row, Action: Wait, Problem: InProgress} }

var (
	tooLate = Decision{Row: "2", Action: Refuse, Problem: TooLate, Review: true}
	execute = Decision{Row: "1", Action: Execute}
	replay  = Decision{Row: "3", Action: Replay}
	gone    = refusal("5", ResultGone)

	async      = func(p *Policy) { p.Async = true }
	runUntimed = func(p *Policy) { p.RunUntimed = true }
	required   = func(p *Policy) { p.KeyTime = Required }
	untimed    = func(p *Policy) { p.KeyTime = None }
)

func (c decideCase) decide() Decision {
	p := policy()
	if c.policy != nil {
		c.policy(&p)
	}
	return Decide(p, c.seen, c.req, now)
}

func TestDecide(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range decideCases() {
		if names[c.name] {
			t.Errorf("two cases are named %q", c.name)
		}
		names[c.name] = true
		if got := c.decide(); got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

func decideCases() []decideCase {
	cases := guardCases()
	cases = append(cases, unseenCases()...)
	cases = append(cases, knownCases()...)
	return append(cases, failureCases()...)
}

// TestDecideLeavesItsArguments holds what "pure" means: nothing seen is changed.
func TestDecideLeavesItsArguments(t *testing.T) {
	t.Parallel()
	for _, c := range decideCases() {
		if c.seen.Record == nil {
			continue
		}
		before := *c.seen.Record
		c.decide()
		if !reflect.DeepEqual(*c.seen.Record, before) {
			t.Errorf("%s: the seen record was changed", c.name)
		}
	}
}
