package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// ErrCases is wrapped when a suite's cases cannot be compared: two of one
// name, or a base that is not among them.
var ErrCases = errors.New("measure: cases")

// Case is one row of a table per number of callers.
type Case struct {
	Name string
	Base string // the case its ratio is taken against; empty: no ratio
	Op   Op

	// Beside, if set, runs from BesideCallers goroutines while Op is
	// measured. Its allocations count into the case's.
	Beside        Op
	BesideCallers int
}

// Suite is a list of cases that take turns. Each round runs every case once,
// every second round in reverse order, so that drift of the machine hits a
// case and its base alike.
type Suite struct {
	Title    string
	Callers  []int
	Rounds   int
	Duration time.Duration // of one case in one round
	Cases    []Case
}

// Row is a case at one number of callers over all rounds. Ratios are taken
// round by round; NaN where there is no base or a base without operations.
type Row struct {
	Callers       int
	Name, Base    string
	Ops           Spread // per second
	Ratio         Spread
	P50, P99      time.Duration // over all rounds' operations
	Allocs, Bytes float64       // per operation, median of the rounds
	Beside        float64       // per second, median; NaN if nothing ran beside
	Errs          int           // of Op and Beside, all rounds
	Err           error         // an example

	rounds []float64 // operations per second, round by round
}

// Spread is a median with its extremes over the rounds.
type Spread struct{ Median, Min, Max float64 }

// Table is the outcome of a suite, in the order of callers, then of cases.
type Table struct {
	Suite Suite
	Rows  []Row
}

// Ratio compares two cases at one number of callers round by round, for a
// pair that the suite does not name as case and base. The error wraps
// ErrCases if either is not in the table.
func (t Table) Ratio(callers int, name, base string) (Spread, error) {
	var ours, theirs []float64
	for _, r := range t.Rows {
		if r.Callers != callers {
			continue
		}
		if r.Name == name {
			ours = r.rounds
		}
		if r.Name == base {
			theirs = r.rounds
		}
	}
	if ours == nil || theirs == nil {
		return Spread{}, fmt.Errorf("%w: no %q or no %q at %d callers", ErrCases, name, base, callers)
	}
	return ratio(ours, theirs), nil
}

// Run measures all cases. The error wraps ErrCases or is the context's;
// an operation's own errors are counted in its row.
func (s Suite) Run(ctx context.Context) (Table, error) {
	bases, err := s.bases()
	if err != nil {
		return Table{}, err
	}
	table := Table{Suite: s}
	for _, callers := range s.Callers {
		series := make([]series, len(s.Cases))
		for round := range s.Rounds {
			for _, i := range order(len(s.Cases), round) {
				series[i].add(s.Cases[i].run(ctx, callers, s.Duration))
				if err := ctx.Err(); err != nil {
					return Table{}, err
				}
			}
		}
		for i, c := range s.Cases {
			row := series[i].row()
			row.Callers, row.Name, row.Base = callers, c.Name, c.Base
			row.Ratio = Spread{math.NaN(), math.NaN(), math.NaN()}
			if base := bases[i]; base >= 0 {
				row.Ratio = ratio(series[i].perSecond, series[base].perSecond)
			}
			table.Rows = append(table.Rows, row)
		}
	}
	return table, nil
}

// bases gives each case the index of its base, -1 for none.
func (s Suite) bases() ([]int, error) {
	index := make(map[string]int, len(s.Cases))
	for i, c := range s.Cases {
		if _, twice := index[c.Name]; twice {
			return nil, fmt.Errorf("%w: %q stands twice", ErrCases, c.Name)
		}
		index[c.Name] = i
	}
	bases := make([]int, len(s.Cases))
	for i, c := range s.Cases {
		bases[i] = -1
		if c.Base == "" {
			continue
		}
		base, ok := index[c.Base]
		if !ok {
			return nil, fmt.Errorf("%w: %q has the unknown base %q", ErrCases, c.Name, c.Base)
		}
		bases[i] = base
	}
	return bases, nil
}

// order is 0..n-1, reversed in odd rounds.
func order(n, round int) []int {
	indexes := make([]int, n)
	for i := range indexes {
		indexes[i] = i
	}
	if round%2 == 1 {
		slices.Reverse(indexes)
	}
	return indexes
}

type result struct {
	Sample
	beside     float64
	besideErrs int
}

func (c Case) run(ctx context.Context, callers int, dur time.Duration) result {
	if c.Beside == nil {
		return result{Sample: Run(ctx, callers, dur, c.Op), beside: math.NaN()}
	}
	start := time.Now()
	stop := beside(ctx, c.BesideCallers, c.Beside)
	r := result{Sample: Run(ctx, callers, dur, c.Op)}
	ops, errs := stop()
	r.beside, r.besideErrs = float64(ops)/time.Since(start).Seconds(), errs
	return r
}

// series is one case at one number of callers, round by round.
type series struct {
	perSecond, allocs, bytes, beside []float64
	latency                          Histogram
	errs                             int
	err                              error
}

func (s *series) add(r result) {
	s.perSecond = append(s.perSecond, r.PerSecond())
	s.allocs = append(s.allocs, r.AllocsPerOp())
	s.bytes = append(s.bytes, r.BytesPerOp())
	s.beside = append(s.beside, r.beside)
	s.latency.Add(&r.Latency)
	s.errs += r.Errs + r.besideErrs
	if s.err == nil {
		s.err = r.Err
	}
}

func (s *series) row() Row {
	return Row{
		Ops:    Of(s.perSecond),
		P50:    s.latency.Quantile(0.50),
		P99:    s.latency.Quantile(0.99),
		Allocs: Of(s.allocs).Median,
		Bytes:  Of(s.bytes).Median,
		Beside: Of(s.beside).Median,
		Errs:   s.errs,
		Err:    s.err,
		rounds: s.perSecond,
	}
}

// ratio compares two series round by round, leaving out rounds in which the
// base did nothing.
func ratio(ours, base []float64) Spread {
	var ratios []float64
	for i := range ours {
		if base[i] > 0 {
			ratios = append(ratios, ours[i]/base[i])
		}
	}
	return Of(ratios)
}

// Of is the spread of values; not numbers where there are none.
func Of(values []float64) Spread {
	if len(values) == 0 {
		return Spread{math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}
}
