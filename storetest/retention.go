package storetest

import "github.com/refrain-dev/refrain/upkeep"

func retentionProperties[T any]() []property[T] {
	noForgetting := func(f Features) bool { return f.NoForgetting }
	noDamage := func(f Features) bool { return f.NoDamage }
	noOnce := func(f Features) bool { return f.NoOnce }
	return []property[T]{
		{"MemoryEndsOnTheMicrosecond", memoryEndsOnTheMicrosecond[T], nil},
		{"MemoryOfAMinute", memoryOfAMinute[T], nil},
		{"MemoryOfOneLength", memoryOfOneLength[T], nil},
		{"MemoryAsItWasStored", memoryAsItWasStored[T], nil},
		{"TrimmedStaysTrimmed", trimmedStaysTrimmed[T], nil},
		{"ForgottenStaysRefused", forgottenStaysRefused[T], nil},
		{"ClientClocksApart", clientClocksApart[T], nil},
		{"ReapFindsStrays", reapFindsStrays[T], nil},
		{"ReapLooksAgain", reapLooksAgain[T], nil},
		{"ReapLeavesTheYoung", reapLeavesTheYoung[T], nil},
		{"ReapOfWhatGrew", reapOfWhatGrew[T], nil},
		{"ReapUntil", reapUntil[T], nil},
		{"ReapTellsItsLag", reapTellsItsLag[T], nil},
		{"ReapWithoutAnOperation", reapWithoutAnOperation[T], nil},
		{"ReapByManyAtOnce", reapByManyAtOnce[T], nil},
		{"ReapKilled", reapKilled[T], noForgetting},
		{"ReapCancelled", reapCancelled[T], noForgetting},
		{"ArchiveGetsWhatIsForgotten", archiveGetsWhatIsForgotten[T], nil},
		{"ArchiveFailed", archiveFailed[T], nil},
		{"TakeoverParkedReaper", takeoverParkedReaper[T], noForgetting},
		{"ReaperRaces", reaperRaces[T], noForgetting},
		{"WalkInOrder", walkInOrder[T], nil},
		{"WalkPassesTheUnreadable", walkPassesTheUnreadable[T], noDamage},
		{"FenceIsKept", fenceIsKept[T], nil},
		{"FenceIsRefused", fenceIsRefused[T], nil},
		{"FenceEnds", fenceEnds[T], nil},
		{"FenceVoid", fenceVoid[T], nil},
		{"FenceAudits", fenceAudits[T], func(f Features) bool { return f.NoAudits }},
		{"FenceKnowsNoSince", fenceKnowsNoSince[T], nil},
		{"NothingIsUnsigned", nothingIsUnsigned[T], nil},
		{"FenceCaused", fenceCaused[T], nil},
		{"ReviewsAreListed", reviewsAreListed[T], nil},
		{"OnceIsTaken", onceIsTaken[T], noOnce},
		{"OnceIsGivenBack", onceIsGivenBack[T], noOnce},
		{"OnceAmongMany", onceAmongMany[T], noOnce},
		{"OnceInTheCallers", onceInTheCallers[T], func(f Features) bool { return f.NoOnce || f.NoExecuteIn }},
		{"OnceOutlivesTheRecord", onceOutlivesTheRecord[T], noOnce},
		{"OnceIsListed", onceIsListed[T], noOnce},
		{"OnceIsRemoved", onceIsRemoved[T], noOnce},
		{"OnceRefuses", onceRefuses[T], noOnce},
		{"IncarnationAdvances", incarnationAdvances[T], nil},
	}
}

// retention is what the store offers those who keep its memory in order.
func (f *fixture[T]) retention() upkeep.Retention { return f.retentionOf(f.Harness) }

func (f *fixture[T]) retentionOf(h *Harness[T]) upkeep.Retention {
	f.t.Helper()
	r, ok := h.Store.(upkeep.Retention)
	if !ok {
		f.t.Fatal("the harness's Store is no upkeep.Retention")
	}
	return r
}

// reap lets the reaper work until nothing is due and returns what it did.
func (f *fixture[T]) reap(ask ...upkeep.Reap) upkeep.Reaped {
	f.t.Helper()
	var batch upkeep.Reap
	if len(ask) > 0 {
		batch = ask[0]
	}
	total, err := drain(f, f.Harness, batch)
	if err != nil {
		f.t.Fatalf("Reap: %v", err)
	}
	f.tiles()
	return total
}

// drain may be called from any goroutine.
func drain[T any](f *fixture[T], through *Harness[T], batch upkeep.Reap) (total upkeep.Reaped, err error) {
	for range 200 {
		done, err := f.retentionOf(through).Reap(f.ctx, batch)
		if err != nil {
			return total, err
		}
		total.Looked += done.Looked
		total.Trimmed += done.Trimmed
		total.Forgotten += done.Forgotten
		total.Unfinished += done.Unfinished
		total.Lag = max(total.Lag, done.Lag)
		if total.Now = done.Now; !done.More {
			return total, nil
		}
	}
	f.t.Errorf("two hundred batches, and there is always more")
	return total, nil
}

// tiles demands that the spans leave no gap.
func (f *fixture[T]) tiles() []upkeep.Span {
	f.t.Helper()
	spans, err := f.retention().Spans(f.ctx)
	if err != nil {
		f.t.Fatalf("Spans: %v", err)
	}
	last := ""
	for _, s := range spans {
		if s.After != last || s.Last <= s.After || s.Due.IsZero() {
			f.t.Errorf("behind %q comes the span %+v", last, s)
		}
		last = s.Last
	}
	return spans
}

// forget lets the reaper work, limit records at a time, and demands how many are
// forgotten.
func (f *fixture[T]) forget(limit, want int) {
	f.t.Helper()
	if done := f.reap(upkeep.Reap{Limit: limit}); done.Forgotten != want {
		f.t.Fatalf("the reaper forgot %d records, want %d: %+v", done.Forgotten, want, done)
	}
}
