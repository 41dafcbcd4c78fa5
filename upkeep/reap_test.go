package upkeep_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

var noon = time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)

const us = time.Microsecond

// kept is a settled record that was made a day ago.
func kept(replay, remember time.Duration) upkeep.Row {
	return upkeep.Row{
		Ref: "kept", Settled: true, Kept: true,
		Created: noon.Add(-24 * time.Hour), ReplayUntil: noon.Add(replay), RememberUntil: noon.Add(remember),
	}
}

func trimmed(remember time.Duration) upkeep.Row {
	r := kept(-time.Hour, remember)
	r.Kept = false
	return r
}

func unsettled(age, remember time.Duration) upkeep.Row {
	return upkeep.Row{Ref: "open", Created: noon.Add(-age), ReplayUntil: noon.Add(remember), RememberUntil: noon.Add(remember)}
}

// TestPlanReap: what is done with one record, and when it is looked at again.
func TestPlanReap(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		row    upkeep.Row
		does   string
		within time.Duration // until it is looked at again; 0 is never
	}{
		"replayed for a microsecond":     {kept(us, time.Hour), "nothing", us},
		"replay over":                    {kept(0, time.Hour), "trim", time.Hour},
		"replay over long since":         {kept(-5*time.Hour, us), "trim", us},
		"remembered for a microsecond":   {trimmed(us), "nothing", us},
		"memory over":                    {trimmed(0), "forget", 0},
		"memory over, never trimmed":     {kept(-time.Hour, 0), "forget", 0},
		"both over at once":              {kept(0, 0), "forget", 0},
		"one length":                     {kept(time.Hour, time.Hour), "nothing", time.Hour},
		"replay longer than memory":      {kept(2*time.Hour, time.Hour), "nothing", time.Hour},
		"trimmed before its time":        {func() upkeep.Row { r := kept(time.Hour, 2*time.Hour); r.Kept = false; return r }(), "nothing", 2 * time.Hour},
		"unsettled, made now":            {unsettled(0, -time.Hour), "leave", time.Minute},
		"unsettled, from the future":     {unsettled(-time.Hour, -time.Hour), "leave", time.Minute},
		"unsettled for twenty minutes":   {unsettled(20*time.Minute, -time.Hour), "leave", 5 * time.Minute},
		"unsettled for ever":             {unsettled(1000*time.Hour, -time.Hour), "leave", time.Hour},
		"unsettled, no deadline to come": {unsettled(4*time.Hour, time.Hour), "leave", time.Hour},
	} {
		p := upkeep.PlanReap([]upkeep.Row{tt.row}, noon)
		does := "nothing"
		switch {
		case len(p.Trim) == 1:
			does = "trim"
		case len(p.Forget) == 1:
			does = "forget"
		case p.Unfinished == 1:
			does = "leave"
		}
		if len(p.Trim)+len(p.Forget)+p.Unfinished > 1 || does != tt.does {
			t.Errorf("%s: %+v, want %s", name, p, tt.does)
		}
		if want := noon.Add(tt.within); tt.within == 0 && !p.Next.IsZero() || tt.within != 0 && !p.Next.Equal(want) {
			t.Errorf("%s: looked at again %v, want %v", name, p.Next, want)
		}
	}
	if p := upkeep.PlanReap(nil, noon); !p.Next.IsZero() || len(p.Trim)+len(p.Forget)+p.Unfinished != 0 {
		t.Errorf("of nothing: %+v", p)
	}
}

// TestPlanReapTogether: what is due about the same time waits for the last of it,
// by a sixteenth of the time until then and never more than an hour.
func TestPlanReapTogether(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in   []time.Duration
		want time.Duration
	}{
		"a sixteenth":           {[]time.Duration{16 * time.Minute, 17 * time.Minute}, 17 * time.Minute},
		"more than that":        {[]time.Duration{16 * time.Minute, 17*time.Minute + us}, 16 * time.Minute},
		"in any order":          {[]time.Duration{17 * time.Minute, 40 * time.Minute, 16 * time.Minute}, 17 * time.Minute},
		"an hour":               {[]time.Duration{100 * time.Hour, 101 * time.Hour}, 101 * time.Hour},
		"more than an hour":     {[]time.Duration{100 * time.Hour, 101*time.Hour + us}, 100 * time.Hour},
		"measured by the first": {[]time.Duration{16 * time.Minute, 17 * time.Minute, 18 * time.Minute}, 17 * time.Minute},
		"at once":               {[]time.Duration{us, 2 * us}, us},
	} {
		var rows []upkeep.Row
		for _, d := range tt.in {
			rows = append(rows, trimmed(d))
		}
		if p := upkeep.PlanReap(rows, noon); !p.Next.Equal(noon.Add(tt.want)) {
			t.Errorf("%s: looked at again in %v, want %v", name, p.Next.Sub(noon), tt.want)
		}
	}
}

// TestPlanReapHolds for any rows: nothing is taken before its time, and what is
// left is looked at again, at most an hour later than it is due.
func TestPlanReapHolds(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	near := func() time.Duration { return time.Duration(rnd.Int64N(int64(60*time.Hour))) - 20*time.Hour }
	for range 20_000 {
		rows := make([]upkeep.Row, rnd.IntN(6))
		for i := range rows {
			rows[i] = upkeep.Row{
				Ref: fmt.Sprint(i), Settled: rnd.IntN(4) > 0, Kept: rnd.IntN(2) > 0,
				Created: noon.Add(near()), ReplayUntil: noon.Add(near()), RememberUntil: noon.Add(near()),
			}
		}
		p := upkeep.PlanReap(rows, noon)
		left := len(rows) - len(p.Forget)
		for _, r := range p.Forget {
			if !r.Settled || r.RememberUntil.After(noon) {
				t.Fatalf("forgets %+v", r)
			}
		}
		for _, r := range p.Trim {
			if !r.Settled || !r.Kept || r.ReplayUntil.After(noon) || !r.RememberUntil.After(noon) {
				t.Fatalf("trims %+v", r)
			}
		}
		if (left == 0) != p.Next.IsZero() || left > 0 && !p.Next.After(noon) {
			t.Fatalf("leaves %d and looks again %v", left, p.Next)
		}
		for _, r := range rows {
			due := r.RememberUntil
			if r.Kept && r.ReplayUntil.After(noon) && r.ReplayUntil.Before(due) {
				due = r.ReplayUntil
			}
			forgotten := slices.ContainsFunc(p.Forget, func(f upkeep.Row) bool { return f.Ref == r.Ref })
			if r.Settled && !forgotten && p.Next.After(due.Add(time.Hour)) {
				t.Fatalf("%+v is due %v and looked at %v", r, due, p.Next)
			}
		}
	}
}

func TestReapBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ask   upkeep.Reap
		limit int
		until time.Time
	}{
		{upkeep.Reap{}, 1000, noon},
		{upkeep.Reap{Limit: -1, Until: noon.Add(us)}, 1000, noon},
		{upkeep.Reap{Limit: 1, Until: noon.Add(-us)}, 1, noon.Add(-us)},
		{upkeep.Reap{Limit: 10_000, Until: noon}, 10_000, noon},
		{upkeep.Reap{Limit: 10_001}, 10_000, noon},
	} {
		if got := tt.ask.Bounded(noon); got.Limit != tt.limit || !got.Until.Equal(tt.until) {
			t.Errorf("%+v is bounded to %+v", tt.ask, got)
		}
	}
	for limit, want := range map[int]int{-1: 100, 0: 100, 1: 1, 1000: 1000, 1001: 1000} {
		if got := (upkeep.ReviewQuery{Limit: limit}).Bounded(); got != want {
			t.Errorf("%d reviews are bounded to %d, want %d", limit, got, want)
		}
		if got := (upkeep.OnceQuery{Limit: limit}).Bounded(); got != want {
			t.Errorf("%d values are bounded to %d, want %d", limit, got, want)
		}
	}
	if idle := upkeep.Idle(noon); !idle.Equal(noon.Add(time.Hour)) {
		t.Errorf("an idle span is looked at %v", idle)
	}
}

// TestRowOf what a reaper does not have to leave alone.
func TestRowOf(t *testing.T) {
	t.Parallel()
	rec := record.Record{Ref: "r", Version: 3, State: record.Rejected, Created: noon, ReplayUntil: noon.Add(1), RememberUntil: noon.Add(2)}
	if got := upkeep.RowOf(rec); !got.Settled || !got.Kept || got.Version != 3 || got.RememberUntil != rec.RememberUntil || got.ReplayUntil != rec.ReplayUntil || got.Created != noon {
		t.Errorf("%+v", got)
	}
	for name, change := range map[string]func(*record.Record){
		"unknown":   func(r *record.Record) { r.State = record.Unknown },
		"submitted": func(r *record.Record) { r.State = record.Submitted },
		"disputed":  func(r *record.Record) { r.Disputed = true },
	} {
		open := rec
		change(&open)
		if upkeep.RowOf(open).Settled {
			t.Errorf("%s: settled", name)
		}
	}
	rec.Result.Digest = record.Trimmed
	if upkeep.RowOf(rec).Kept {
		t.Error("a trimmed result is kept")
	}
}
