package record

import "time"

// guardCases are rows 12, 11 and 13: decided before anything that was seen.
func guardCases() []decideCase {
	everything := Seen{Record: receipt(Result{}), Held: true, Failure: StoreUnavailable, Submitted: true}
	all := Request{Principal: PrincipalMissing, KeyFault: KeyInvalid, BodyFault: BodyTooLarge, Keyless: true}
	noPrincipalFault, noKeyFault, noBodyFault := all, all, all
	noPrincipalFault.Principal = ""
	noKeyFault = noPrincipalFault
	noKeyFault.KeyFault = ""
	noBodyFault = noKeyFault
	noBodyFault.BodyFault = ""
	return []decideCase{
		{"no principal comes before all else", nil, everything, all, refusal("12", PrincipalMissing)},
		{"then the key's syntax", nil, everything, noPrincipalFault, refusal("11", KeyInvalid)},
		{"then the body", nil, everything, noKeyFault, refusal("13", BodyTooLarge)},
		{"then an optional key that is absent", nil, everything, noBodyFault, Decision{Row: "11", Action: Pass}},
		{"caller not allowed", nil, Seen{}, Request{Principal: Forbidden}, refusal("12", Forbidden)},
		{"caller not verifiable", nil, Seen{}, Request{Principal: PrincipalUnproven}, refusal("12", PrincipalUnproven)},
		{"key missing", nil, Seen{}, Request{KeyFault: KeyMissing}, refusal("11", KeyMissing)},
		{"body not canonical", nil, Seen{}, Request{BodyFault: BodyNotCanonical}, refusal("13", BodyNotCanonical)},
		{"optional key absent", nil, Seen{}, Request{Keyless: true}, Decision{Row: "11", Action: Pass}},
	}
}

// unseenCases are rows 1, 2, 2b, 2c, 6a and 8: no record, or one past its memory.
func unseenCases() []decideCase {
	const us = time.Microsecond
	birth := now.Add(-time.Hour).Truncate(time.Millisecond) // keys carry milliseconds
	future := now.Add(skew).Truncate(time.Millisecond)
	expired := func() *Record {
		return with(receipt(Result{}), func(r *Record) { r.RememberUntil = now })
	}
	anotherExpired := with(expired(), func(r *Record) { r.Print = printOf("another order") })
	expiredUnfinished := with(unfinished(Accepted), func(r *Record) { r.RememberUntil = now.Add(-time.Hour) })
	allowed := execute
	allowed.SpendsAllow = true
	taken := Decision{Row: "8", Action: Execute, Replaces: true}
	takenByAllow := taken
	takenByAllow.SpendsAllow = true
	ulid := request()
	ulid.Key = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	ulidTime := func(p *Policy) { p.KeyTime = ULID }
	ulidHorizon := Seen{Horizon: now}
	recovers := refusal("2c", Recovering)
	return []decideCase{
		{"nothing seen, untimed", nil, Seen{}, request(), execute},
		{"nothing seen, timed", nil, Seen{}, timedAt(birth), execute},
		{"required, timed", required, Seen{}, timedAt(birth), execute},
		{"required, untimed", required, Seen{}, request(), refusal("11", KeyInvalid)},
		{"required, untimed, allowed by a person", required, Seen{Allowed: true}, request(), allowed},

		{"birth before the horizon", nil, Seen{Horizon: birth.Add(us)}, timedAt(birth), tooLate},
		{"birth at the horizon", nil, Seen{Horizon: birth}, timedAt(birth), tooLate},
		{"birth after the horizon", nil, Seen{Horizon: birth.Add(-us)}, timedAt(birth), execute},
		{"untimed below a horizon", nil, Seen{Horizon: now}, request(), execute},
		{"time not read below a horizon", untimed, Seen{Horizon: now}, timedAt(birth), execute},
		{"ULID below the horizon", ulidTime, ulidHorizon, ulid, tooLate},
		{"ULID not read by shape", nil, ulidHorizon, ulid, execute},
		{"birth at the horizon, allowed", nil, Seen{Horizon: birth, Allowed: true}, timedAt(birth), allowed},
		{"allow without need is spent too", nil, Seen{Allowed: true}, request(), allowed},

		{"birth at a fence plus skew", nil, Seen{FenceUntil: birth.Add(-skew)}, timedAt(birth), tooLate},
		{"birth past a fence plus skew", nil, Seen{FenceUntil: birth.Add(-skew - us)}, timedAt(birth), execute},
		{"ended fence still counts for timed keys", nil, Seen{FenceUntil: now}, timedAt(birth), tooLate},
		{"ended fence lets untimed keys run", nil, Seen{FenceUntil: now}, request(), execute},
		{"standing fence, timed key born after", nil, Seen{FenceUntil: birth.Add(-time.Hour), FenceOpen: true}, timedAt(birth), execute},
		{"standing fence, untimed", nil, Seen{FenceUntil: now, FenceOpen: true}, request(), tooLate},
		{"standing fence, untimed may run", runUntimed, Seen{FenceUntil: now, FenceOpen: true}, request(), execute},
		{"standing fence, timed although untimed may run", runUntimed, Seen{FenceUntil: now, FenceOpen: true}, timedAt(birth), tooLate},
		{"standing fence, untimed, allowed", nil, Seen{FenceUntil: now, FenceOpen: true, Allowed: true}, request(), allowed},

		{"standing fence, birth at its until", nil, Seen{FenceUntil: birth, FenceOpen: true}, timedAt(birth), tooLate},
		{"standing fence, birth a moment after its until", nil, Seen{FenceUntil: birth.Add(-us), FenceOpen: true}, timedAt(birth), recovers},
		{"standing fence, birth at its until plus skew", nil, Seen{FenceUntil: birth.Add(-skew), FenceOpen: true}, timedAt(birth), recovers},
		{"standing fence, birth past its until plus skew", nil, Seen{FenceUntil: birth.Add(-skew - us), FenceOpen: true}, timedAt(birth), execute},
		{"standing fence, birth within skew and below the horizon", nil, Seen{FenceUntil: birth.Add(-us), FenceOpen: true, Horizon: birth}, timedAt(birth), tooLate},
		{"standing fence, birth within skew and past a horizon", nil, Seen{FenceUntil: birth.Add(-us), FenceOpen: true, Horizon: birth.Add(-us)}, timedAt(birth), recovers},
		{"standing fence, birth within skew, allowed", nil, Seen{FenceUntil: birth.Add(-us), FenceOpen: true, Allowed: true}, timedAt(birth), allowed},
		{"standing fence, birth within skew, although untimed may run", runUntimed, Seen{FenceUntil: birth.Add(-us), FenceOpen: true}, timedAt(birth), recovers},
		{"standing fence, birth within skew, past its memory", nil, Seen{FenceUntil: birth.Add(-us), FenceOpen: true, Record: expired()}, timedAt(birth), tooLate},
		{"standing fence, time not read", untimed, Seen{FenceUntil: birth.Add(-us), FenceOpen: true}, timedAt(birth), tooLate},

		{"birth at now plus skew", func(p *Policy) { p.Skew = future.Sub(now) }, Seen{}, timedAt(future), execute},
		{"birth a microsecond past now plus skew", func(p *Policy) { p.Skew = future.Sub(now) - us }, Seen{}, timedAt(future), refusal("2b", KeyFromFuture)},
		{"birth past now plus skew", nil, Seen{}, timedAt(future.Add(time.Millisecond)), refusal("2b", KeyFromFuture)},
		{"from the future, allowed", nil, Seen{Allowed: true}, timedAt(future.Add(time.Millisecond)), refusal("2b", KeyFromFuture)},
		{"future time not read", untimed, Seen{}, timedAt(now.Add(time.Hour)), execute},
		{"below a future horizon and from the future", nil, Seen{Horizon: now.Add(2 * time.Hour)}, timedAt(now.Add(time.Hour)), tooLate},

		{"claim held by another", nil, Seen{Held: true}, request(), waiting("6a")},
		{"held under Async", async, Seen{Held: true}, request(), waiting("6a")},
		{"held below the horizon", nil, Seen{Held: true, Horizon: now}, timedAt(birth), waiting("6a")},
		{"held over a record past its memory", nil, Seen{Held: true, Record: expired()}, request(), waiting("6a")},

		{"memory ends at the deadline, untimed", nil, Seen{Record: expired()}, request(), taken},
		{"memory ends at the deadline, timed", nil, Seen{Record: expired()}, timedAt(birth), tooLate},
		{"past its memory, timed, allowed", nil, Seen{Record: expired(), Allowed: true}, timedAt(birth), takenByAllow},
		{"past its memory, another request", nil, Seen{Record: anotherExpired}, request(), taken},
		{"past its memory, standing fence", nil, Seen{Record: expired(), FenceOpen: true}, request(), tooLate},
		{"past its memory, required, untimed", required, Seen{Record: expired()}, request(), refusal("11", KeyInvalid)},
		{"unfinished never expires by age", nil, Seen{Record: expiredUnfinished}, request(), waiting("6")},
		{"disputed never expires by age", nil, Seen{Record: disputed(expired())}, request(), refusal("7", OutcomeDisputed)},
	}
}

// knownCases are rows 3 to 7: a record within its memory.
func knownCases() []decideCase {
	const us = time.Microsecond
	live, ended := now.Add(us), now
	changed := func(rec *Record) *Record {
		return with(rec, func(r *Record) { r.Print = printOf("another order") })
	}
	until := func(replay, remember time.Time) *Record {
		return with(receipt(Result{}), func(r *Record) { r.ReplayUntil, r.RememberUntil = replay, remember })
	}
	cut := receipt(Result{Digest: make([]byte, 32)})
	other := refusal("4", KeyReused)
	current := Decision{Row: "6b", Action: Current}
	lapsed := refusal("7", OutcomeUnknown)
	lapsed.LeasePast = true
	lapsedAsync := current
	lapsedAsync.LeasePast = true
	fenced := Seen{Record: receipt(Result{}), Horizon: now, FenceUntil: now, FenceOpen: true}
	return []decideCase{
		{"confirmed", nil, Seen{Record: receipt(Result{})}, request(), replay},
		{"rejected", nil, Seen{Record: receipt(Result{Rejected: true})}, request(), replay},
		{"confirmed under Async", async, Seen{Record: receipt(Result{})}, request(), replay},
		{"confirmed and held", nil, Seen{Record: receipt(Result{}), Held: true}, request(), replay},
		{"last microsecond of replay", nil, Seen{Record: until(now.Add(us), now.Add(us))}, request(), replay},
		{"replay ends at its deadline", nil, Seen{Record: until(now, now.Add(us))}, request(), gone},
		{"last microsecond of memory", nil, Seen{Record: until(now.Add(-time.Hour), now.Add(us))}, request(), gone},
		{"result too large to be kept", nil, Seen{Record: cut}, request(), gone},

		{"horizon and fences never hide a record", nil, fenced, request(), replay},
		{"nor does a birth below them", nil, fenced, timedAt(now.Add(-time.Hour)), replay},
		{"nor a birth in the future", nil, fenced, timedAt(now.Add(time.Hour)), replay},
		{"nor a required time", required, fenced, request(), replay},

		{"another request, replayable", nil, Seen{Record: changed(receipt(Result{}))}, request(), other},
		{"another request, result gone", nil, Seen{Record: changed(until(now, now.Add(us)))}, request(), other},
		{"another request, result cut", nil, Seen{Record: changed(receipt(Result{Digest: make([]byte, 32)}))}, request(), other},
		{"another request, accepted", nil, Seen{Record: changed(unfinished(Accepted))}, request(), other},
		{"another request, submitted", nil, Seen{Record: changed(submitted(live))}, request(), other},
		{"another request, lease past", nil, Seen{Record: changed(submitted(ended))}, request(), other},
		{"another request, unknown", nil, Seen{Record: changed(unfinished(Unknown))}, request(), other},
		{"another request, disputed", nil, Seen{Record: changed(disputed(receipt(Result{})))}, request(), other},
		{"another request, Async", async, Seen{Record: changed(unfinished(Unknown))}, request(), other},

		{"accepted", nil, Seen{Record: unfinished(Accepted)}, request(), waiting("6")},
		{"last microsecond of the lease", nil, Seen{Record: submitted(live)}, request(), waiting("6")},
		{"lease ends at its deadline", nil, Seen{Record: submitted(ended)}, request(), lapsed},
		{"unknown", nil, Seen{Record: unfinished(Unknown)}, request(), refusal("7", OutcomeUnknown)},
		{"disputed", nil, Seen{Record: disputed(receipt(Result{}))}, request(), refusal("7", OutcomeDisputed)},
		{"disputed and unknown", nil, Seen{Record: disputed(unfinished(Unknown))}, request(), refusal("7", OutcomeDisputed)},

		{"accepted, Async", async, Seen{Record: unfinished(Accepted)}, request(), current},
		{"submitted, Async", async, Seen{Record: submitted(live)}, request(), current},
		{"lease past, Async", async, Seen{Record: submitted(ended)}, request(), lapsedAsync},
		{"unknown, Async", async, Seen{Record: unfinished(Unknown)}, request(), current},
		{"disputed, Async", async, Seen{Record: disputed(receipt(Result{}))}, request(), refusal("7", OutcomeDisputed)},
	}
}

// failureCases are rows 9, 10, 14, 15 and 16, and 7 after a submission.
func failureCases() []decideCase {
	failure := func(p Problem) Seen { return Seen{Failure: p} }
	after := func(p Problem) Seen { return Seen{Failure: p, Submitted: true} }
	unknown := refusal("7", OutcomeUnknown)
	return []decideCase{
		{"store failed", nil, failure(StoreUnavailable), request(), refusal("9", StoreUnavailable)},
		{"store failed is never a miss", nil, Seen{Failure: StoreUnavailable, Allowed: true}, request(), refusal("9", StoreUnavailable)},
		{"store failed hides what was seen", nil, Seen{Failure: StoreUnavailable, Record: receipt(Result{})}, request(), refusal("9", StoreUnavailable)},
		{"contract changed", nil, failure(ContractChanged), request(), refusal("9", ContractChanged)},
		{"commit's answer lost", nil, failure(CommitUnknown), request(), refusal("10", CommitUnknown)},
		{"not executed", nil, failure(NotExecuted), request(), refusal("14", NotExecuted)},
		{"response too large", nil, failure(ResponseTooLarge), request(), refusal("15", ResponseTooLarge)},
		{"answer undeclared", nil, failure(AnswerUndeclared), request(), refusal("15", AnswerUndeclared)},
		{"response not recordable", nil, failure(NotRecordable), request(), refusal("15", NotRecordable)},
		{"record unreadable", nil, failure(RecordUnreadable), request(), refusal("16", RecordUnreadable)},
		{"store failed after submission", nil, after(StoreUnavailable), request(), unknown},
		{"contract changed after submission", nil, after(ContractChanged), request(), unknown},
		{"commit's answer lost after submission", nil, after(CommitUnknown), request(), unknown},
		{"bound passed after submission", nil, after(NotExecuted), request(), unknown},
		{"unreadable stays unreadable", nil, after(RecordUnreadable), request(), refusal("16", RecordUnreadable)},
	}
}
