package measure

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// Markdown writes the table for a document. "ratio" is the median of the
// per-round ratios with its extremes, against the base named in its cell.
func (t Table) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "#### %s\n\n", t.Suite.Title)
	fmt.Fprintf(&b, "| C | case | ops/s (median of %d × %s) | min–max | ratio | p50 | p99 | allocs/op | B/op | beside, ops/s | errs |\n",
		t.Suite.Rounds, t.Suite.Duration)
	b.WriteString("|--|--|--|--|--|--|--|--|--|--|--|\n")
	for _, r := range t.Rows {
		fmt.Fprintf(&b, "| %d | %s | %.0f | %.0f–%.0f | %s | %s | %s | %.0f | %.0f | %s | %d |\n",
			r.Callers, r.Name, r.Ops.Median, r.Ops.Min, r.Ops.Max, r.ratio(),
			short(r.P50), short(r.P99), r.Allocs, r.Bytes, whole(r.Beside), r.Errs)
	}
	for _, r := range t.Rows {
		if r.Err != nil {
			fmt.Fprintf(&b, "\n%s at %d callers failed, for example: %v\n", r.Name, r.Callers, r.Err)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Abreast writes the ratios of two series of cases that differ in the first
// word of their names: "second x" over "first x" for each x of the first's
// that the second has too, round by round.
func (t Table) Abreast(w io.Writer, second, first string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| C | case | %s / %s (median, min–max of rounds) |\n|--|--|--|\n", second, first)
	for _, row := range t.Rows {
		kind, ours := strings.CutPrefix(row.Name, first+" ")
		if !ours {
			continue
		}
		if r, err := t.Ratio(row.Callers, second+" "+kind, row.Name); err == nil {
			fmt.Fprintf(&b, "| %d | %s | %.2f× (%.2f–%.2f) |\n", row.Callers, kind, r.Median, r.Min, r.Max)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Row) ratio() string {
	if math.IsNaN(r.Ratio.Median) {
		return "—"
	}
	return fmt.Sprintf("%.2f× (%.2f–%.2f) %s", r.Ratio.Median, r.Ratio.Min, r.Ratio.Max, r.Base)
}

func whole(v float64) string {
	if math.IsNaN(v) {
		return "—"
	}
	return fmt.Sprintf("%.0f", v)
}

// short keeps three or four digits, in µs below 10 ms, else in ms.
func short(d time.Duration) string {
	us := float64(d) / float64(time.Microsecond)
	switch {
	case us < 100:
		return fmt.Sprintf("%.1fµs", us)
	case us < 10_000:
		return fmt.Sprintf("%.0fµs", us)
	default:
		return fmt.Sprintf("%.1fms", us/1000)
	}
}
