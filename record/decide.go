package record

import "time"

// Action is what a decision asks for.
type Action uint8

const (
	// Execute runs the effect and records it.
	Execute Action = iota + 1
	// Pass runs the effect without a record: the key is optional and absent.
	Pass
	// Replay answers with the stored result.
	Replay
	// Wait waits for the record of a live claim, then refuses with the problem.
	Wait
	// Current answers with the state of an unfinished record (202).
	Current
	// Refuse answers with the problem.
	Refuse
)

// Decision is one row of the decision table.
type Decision struct {
	Row     string // "1", "2b", "6a"
	Action  Action
	Problem Problem // for Refuse and Wait
	// Replaces: the execution takes over the seen, forgotten record.
	Replaces bool
	// SpendsAllow: the execution is permitted by an allow and must spend it.
	SpendsAllow bool
	// Reopens: the execution is another attempt of the seen record.
	Reopens bool
	// LeasePast: the seen record's lease has ended; the reader writes Unknown.
	LeasePast bool
	// Review: the refusal is stored for review.
	Review bool
}

// Decide is the decision table. It is pure: the same arguments give the same
// row, and now is the store's time. Order: principal, key syntax, body, then
// the record's rows; another request (row 4) is told only from a committed
// record and wins over whatever state that record is in.
func Decide(p Policy, seen Seen, req Request, now time.Time) Decision {
	switch {
	case req.Principal != "":
		return refuse("12", req.Principal)
	case req.KeyFault != "":
		return refuse("11", req.KeyFault)
	case req.BodyFault != "":
		return refuse("13", req.BodyFault)
	case req.Keyless:
		return Decision{Row: "11", Action: Pass}
	case seen.Failure != "":
		return failed(seen)
	case seen.Record != nil && !forgotten(seen.Record, now):
		return known(p, seen.Record, req, now)
	case seen.Held:
		return Decision{Row: "6a", Action: Wait, Problem: InProgress}
	}
	return unseen(p, seen, req, now)
}

// forgotten reports row 8: at the deadline itself the memory has ended. A
// record that is unfinished or disputed never expires by age.
func forgotten(rec *Record, now time.Time) bool {
	return rec.State.Final() && !rec.Disputed && !now.Before(rec.RememberUntil)
}

// failed decides rows 9, 10, 14, 15 and 16, and 7 for every failure after the
// effect may have left: no rollback can be claimed then.
func failed(seen Seen) Decision {
	if seen.Submitted && seen.Failure != RecordUnreadable {
		return refuse("7", OutcomeUnknown)
	}
	switch seen.Failure {
	case CommitUnknown:
		return refuse("10", CommitUnknown)
	case NotExecuted:
		return refuse("14", NotExecuted)
	case ResponseTooLarge, AnswerUndeclared, NotRecordable:
		return refuse("15", seen.Failure)
	case RecordUnreadable:
		return refuse("16", RecordUnreadable)
	}
	return refuse("9", seen.Failure)
}

func known(p Policy, rec *Record, req Request, now time.Time) Decision {
	if !req.same(rec) {
		return refuse("4", KeyReused)
	}
	switch {
	case rec.Disputed: // also under Async: its state is one of two that contradict each other
		return refuse("7", OutcomeDisputed)
	case rec.State.Final() && now.Before(rec.ReplayUntil) && rec.Result.Kept():
		return Decision{Row: "3", Action: Replay}
	case rec.State.Final():
		return refuse("5", ResultGone)
	}
	leasePast := rec.State == Submitted && !now.Before(rec.Lease)
	lost := rec.State == Unknown || leasePast
	switch {
	case lost && p.Rerun:
		return Decision{Row: "7", Action: Execute, Reopens: true}
	case p.Async:
		return Decision{Row: "6b", Action: Current, LeasePast: leasePast}
	case lost:
		d := refuse("7", OutcomeUnknown)
		d.LeasePast = leasePast
		return d
	}
	return Decision{Row: "6", Action: Wait, Problem: InProgress}
}

// unseen decides rows 1, 2, 2b and 8: no record, or one that reads as forgotten.
func unseen(p Policy, seen Seen, req Request, now time.Time) Decision {
	expired := seen.Record != nil
	born, timed := p.KeyTime.Birth(req.Key)
	if !req.Fresh && !seen.Allowed && recovering(p, seen, born, timed) {
		return refuse("2c", Recovering)
	}
	if !req.Fresh && lateRetry(p, seen, born, timed) && !seen.Allowed {
		d := refuse("2", TooLate)
		d.Review = true
		return d
	}
	if timed && born.After(now.Add(p.Skew)) && !req.Fresh {
		return refuse("2b", KeyFromFuture)
	}
	if !timed && p.KeyTime == Required && !seen.Allowed && !req.Fresh {
		return refuse("11", KeyInvalid)
	}
	d := Decision{Row: "1", Action: Execute, Replaces: expired, SpendsAllow: seen.Allowed}
	if expired {
		d.Row = "8"
	}
	return d
}

// lateRetry is row 2: the key may belong to an action that was forgotten or
// lost. It compares the key's own time with what the store recorded, never two
// clocks.
func lateRetry(p Policy, seen Seen, born time.Time, timed bool) bool {
	if !timed {
		return seen.FenceOpen && !p.RunUntimed
	}
	return seen.Record != nil || // reads as forgotten, whether or not a reaper has been here
		!seen.Horizon.IsZero() && !born.After(seen.Horizon) ||
		!seen.FenceUntil.IsZero() && !born.After(seen.FenceUntil.Add(p.Skew))
}

// recovering is row 2c: while a restore is under review nobody can tell a key that
// seems younger than what was lost from one of a client whose clock is ahead.
func recovering(p Policy, seen Seen, born time.Time, timed bool) bool {
	return timed && seen.FenceOpen && born.After(seen.FenceUntil) && !born.After(seen.FenceUntil.Add(p.Skew)) &&
		seen.Record == nil && born.After(seen.Horizon)
}

func refuse(row string, problem Problem) Decision {
	return Decision{Row: row, Action: Refuse, Problem: problem}
}
