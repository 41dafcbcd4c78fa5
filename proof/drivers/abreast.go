package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/refrain-dev/refrain/proof/bench/measure"
)

// abreast writes the second driver's throughput over the first's, case by
// case, from the per-round series.
func abreast(w io.Writer, table measure.Table) error {
	first, second := drivers[0].name, drivers[1].name
	fmt.Fprintf(w, "\n| C | case | %s / %s (median, min–max of rounds) |\n|--|--|--|\n", second, first)
	for _, row := range table.Rows {
		kind, ours := strings.CutPrefix(row.Name, first+" ")
		if !ours {
			continue
		}
		r, err := table.Ratio(row.Callers, second+" "+kind, row.Name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "| %d | %s | %.2f× (%.2f–%.2f) |\n", row.Callers, kind, r.Median, r.Min, r.Max); err != nil {
			return err
		}
	}
	return nil
}
