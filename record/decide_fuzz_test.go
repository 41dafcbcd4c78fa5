package record

import (
	"testing"
	"time"
)

// FuzzDecide draws a policy, a sighting and a request from bits and offsets and
// holds what must be true of every answer.
func FuzzDecide(f *testing.F) {
	for _, bits := range []uint32{0, 1, 0x0f, 0xff, 0xffff, 0x10000, 0x30003, 0x123456, 0xffffff, 0xffffffff} {
		for _, offset := range []int64{-1, 0, 1, int64(skew / time.Microsecond), 1 << 40} {
			f.Add(bits, offset, -offset, offset/2, int64(0), uint8(bits))
		}
	}
	f.Fuzz(func(t *testing.T, bits uint32, birth, horizon, deadline, fence int64, state uint8) {
		p, seen, req := drawn(bits, birth, horizon, deadline, fence, state)
		d := Decide(p, seen, req, now)
		if again := Decide(p, seen, req, now); again != d {
			t.Fatalf("one question, two answers: %+v and %+v", d, again)
		}
		if fault := broken(p, seen, req, d); fault != "" {
			t.Fatalf("%s\npolicy %+v\nseen %+v\nrecord %+v\nrequest %+v\ndecision %+v", fault, p, seen, seen.Record, req, d)
		}
	})
}

// failures are those Seen names.
var failures = []Problem{
	StoreUnavailable, CommitUnknown, NotExecuted, ResponseTooLarge,
	AnswerUndeclared, NotRecordable, RecordUnreadable, ContractChanged,
}

// drawn reads the whole input: bit by bit the flags, in microseconds around now the times.
func drawn(bits uint32, birth, horizon, deadline, fence int64, state uint8) (Policy, Seen, Request) {
	at := func(us int64) time.Time { return now.Add(time.Duration(us%(1<<45)) * time.Microsecond) }
	flag := func() bool { b := bits&1 == 1; bits >>= 1; return b }
	rarely := func(n int) bool { mask := uint32(1)<<n - 1; all := bits&mask == mask; bits >>= n; return all }
	p := policy()
	p.Async, p.RunUntimed = flag(), flag()
	p.KeyTime = KeyTime(bits & 3)
	bits >>= 2
	req := request()
	if flag() {
		req = timedAt(at(birth))
	}
	var seen Seen
	seen.Held, seen.Allowed, seen.FenceOpen = flag(), flag(), flag()
	if flag() {
		seen.Horizon = at(horizon)
	}
	if flag() {
		seen.FenceUntil = at(fence)
	}
	if flag() {
		rec := unfinished(State(state%5) + Accepted)
		rec.Disputed, rec.Lease = flag(), at(horizon)
		if rec.State.Final() {
			rec.ReplayUntil, rec.RememberUntil = at(min(deadline, birth)), at(max(deadline, birth))
		}
		if flag() {
			rec.Print = printOf("another order")
		}
		if flag() {
			rec.Result.Digest = make([]byte, 32)
		}
		seen.Record = rec
	}
	if rarely(2) {
		seen.Failure, seen.Submitted = failures[int(state)%len(failures)], flag()
	}
	if rarely(3) {
		req.BodyFault, req.KeyFault = BodyTooLarge, KeyInvalid
	}
	return p, seen, req
}

// broken names the invariant a decision breaks, or "".
func broken(p Policy, seen Seen, req Request, d Decision) string {
	rec := seen.Record
	live := rec != nil && (!rec.State.Final() || rec.Disputed || now.Before(rec.RememberUntil))
	born, timed := p.KeyTime.Birth(req.Key)
	runs := d.Action == Execute
	refuses := d.Action == Refuse || d.Action == Wait
	switch {
	case d.Row == "" || d.Action < Execute || d.Action > Refuse:
		return "no row of the table"
	case refuses && (d.Problem.Title() == "" || d.Problem.Status() < 400):
		return "a refusal without a known problem"
	case !refuses && d.Problem != "":
		return "a problem beside a result"
	case runs && live:
		return "executes over a live record"
	case runs && seen.Failure != "":
		return "takes a failure for an empty lookup"
	case runs && seen.Held:
		return "executes under another's claim"
	case runs && timed && !seen.Allowed && rec != nil:
		return "executes a timed key again"
	case runs && timed && !seen.Allowed && !seen.Horizon.IsZero() && !born.After(seen.Horizon):
		return "executes a key born before the horizon"
	case runs && timed && !seen.Allowed && !seen.FenceUntil.IsZero() && !born.After(seen.FenceUntil.Add(p.Skew)):
		return "executes a key born before a fence"
	case runs && !timed && !seen.Allowed && seen.FenceOpen && !p.RunUntimed:
		return "executes an untimed key under a standing fence"
	case runs && !timed && !seen.Allowed && p.KeyTime == Required:
		return "executes an untimed key where a time is required"
	case runs && seen.Allowed != d.SpendsAllow:
		return "an allow is spent if and only if there is one and it executes"
	case runs && (rec != nil) != d.Replaces:
		return "takes over a record if and only if there is one"
	case !runs && (d.SpendsAllow || d.Replaces):
		return "spends or replaces without executing"
	case d.Action == Replay && (!live || !rec.State.Final() || rec.Disputed || !rec.Result.Kept() || !now.Before(rec.ReplayUntil)):
		return "replays what is not a whole, undisputed receipt"
	case d.Action == Current && (!live || rec.State.Final() || !p.Async):
		return "answers with the state of what is not unfinished"
	case live && !req.same(rec) && (d.Action == Replay || d.Action == Current || d.Action == Wait):
		return "tells another request about this record"
	case d.Problem == KeyReused && (!live || req.same(rec)):
		return "claims another request without a record of one"
	case d.LeasePast && (!live || rec.State != Submitted || now.Before(rec.Lease)):
		return "ends a lease that is not past"
	case d.Review != (d.Problem == TooLate):
		return "reviews another refusal than a late retry"
	case seen.Submitted && seen.Failure != "" && d.Problem == NotExecuted:
		return "claims a rollback after the effect may have left"
	}
	return ""
}
