package measure

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// takes is an operation that lasts as long as its round's entry, in ms.
func takes(ms ...int) Op {
	round := 0
	return func(context.Context, int, int) error {
		<-time.After(time.Duration(ms[round]) * time.Millisecond)
		round++
		return nil
	}
}

func TestSuiteRatioIsMedianOfRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table, err := Suite{
			Callers: []int{1}, Rounds: 3, Duration: time.Millisecond,
			Cases: []Case{
				{Name: "base", Op: takes(10, 20, 100)},
				{Name: "ours", Base: "base", Op: takes(20, 20, 25)},
			},
		}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// Per round 0.5, 1 and 4; the ratio of the medians is 1 as well, so
		// the extremes tell the pairing.
		want := Spread{Median: 1, Min: 0.5, Max: 4}
		if got := table.Rows[1].Ratio; !near(got, want) {
			t.Errorf("ratio %v, want %v", got, want)
		}
		if got := table.Rows[1].Ops; !near(got, Spread{50, 40, 50}) {
			t.Errorf("operations per second %v", got)
		}
		if !math.IsNaN(table.Rows[0].Ratio.Median) {
			t.Errorf("a base has the ratio %v", table.Rows[0].Ratio)
		}
		back, err := table.Ratio(1, "base", "ours")
		if err != nil || !near(back, Spread{1, 0.25, 2}) {
			t.Errorf("the other way round: %v, %v", back, err)
		}
		if _, err := table.Ratio(8, "base", "ours"); !errors.Is(err, ErrCases) {
			t.Errorf("a ratio nobody measured: %v", err)
		}
	})
}

func near(a, b Spread) bool {
	const tiny = 1e-9
	return math.Abs(a.Median-b.Median) < tiny && math.Abs(a.Min-b.Min) < tiny && math.Abs(a.Max-b.Max) < tiny
}

func TestSuiteAlternates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turns []string
		turn := func(name string) Op {
			return func(context.Context, int, int) error {
				<-time.After(2 * time.Millisecond)
				turns = append(turns, name)
				return nil
			}
		}
		_, err := Suite{
			Callers: []int{1}, Rounds: 3, Duration: time.Millisecond,
			Cases: []Case{{Name: "a", Op: turn("a")}, {Name: "b", Op: turn("b")}},
		}.Run(t.Context())
		if want := []string{"a", "b", "b", "a", "a", "b"}; err != nil || !slices.Equal(turns, want) {
			t.Errorf("turns %v, want %v (%v)", turns, want, err)
		}
	})
}

func TestSuiteBeside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wait := func(context.Context, int, int) error { <-time.After(10 * time.Millisecond); return nil }
		table, err := Suite{
			Callers: []int{1}, Rounds: 1, Duration: 100 * time.Millisecond,
			Cases: []Case{{Name: "a", Op: wait, Beside: wait, BesideCallers: 3}},
		}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// Whoever is under way when the measured loop ends is waited for.
		if got := table.Rows[0].Beside; got < 250 || got > 330 {
			t.Errorf("%v operations per second beside, want about 300", got)
		}
	})
}

func TestSuiteRefusesCases(t *testing.T) {
	t.Parallel()
	for name, cases := range map[string][]Case{
		"unknown base": {{Name: "a", Base: "b"}},
		"same name":    {{Name: "a"}, {Name: "a"}},
	} {
		if _, err := (Suite{Cases: cases}).Run(t.Context()); !errors.Is(err, ErrCases) {
			t.Errorf("%s: %v, want ErrCases", name, err)
		}
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	table := Table{
		Suite: Suite{Title: "Title", Rounds: 3, Duration: time.Second},
		Rows: []Row{
			{Callers: 8, Name: "base", Ops: Spread{1000, 900, 1100}, Ratio: Spread{math.NaN(), math.NaN(), math.NaN()},
				P50: 99 * time.Microsecond, P99: 12 * time.Millisecond, Allocs: 6.4, Bytes: 384, Beside: math.NaN()},
			{Callers: 8, Name: "ours", Base: "base", Ops: Spread{770, 700, 800}, Ratio: Spread{0.77, 0.7, 0.8},
				P50: 1234 * time.Microsecond, Beside: 5, Errs: 2, Err: errOdd},
		},
	}
	var b strings.Builder
	if err := table.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	want := `#### Title

| C | case | ops/s (median of 3 × 1s) | min–max | ratio | p50 | p99 | allocs/op | B/op | beside, ops/s | errs |
|--|--|--|--|--|--|--|--|--|--|--|
| 8 | base | 1000 | 900–1100 | — | 99.0µs | 12.0ms | 6 | 384 | — | 0 |
| 8 | ours | 770 | 700–800 | 0.77× (0.70–0.80) base | 1234µs | 0.0µs | 0 | 0 | 5 | 2 |

ours at 8 callers failed, for example: odd
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestAbreast(t *testing.T) {
	t.Parallel()
	table := Table{Rows: []Row{
		{Callers: 1, Name: "naked bare", rounds: []float64{100}},
		{Callers: 1, Name: "naked single", rounds: []float64{50, 40, 80}},
		{Callers: 1, Name: "engine single", rounds: []float64{25, 40, 20}},
	}}
	var b strings.Builder
	if err := table.Abreast(&b, "engine", "naked"); err != nil {
		t.Fatal(err)
	}
	want := `| C | case | engine / naked (median, min–max of rounds) |
|--|--|--|
| 1 | single | 0.50× (0.25–1.00) |
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
