package tour

import (
	"context"
	"testing"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/enginetest"
)

// TestRunOnEveryEngine ends with the same counts in a place of its own, which is
// gone afterwards.
func TestRunOnEveryEngine(t *testing.T) {
	enginetest.Each(t, enginetest.Engines, func(t *testing.T, db string) {
		ctx := context.Background()
		own, remove, err := enginetest.Place(t, db).Own(ctx)
		if err != nil {
			t.Fatal(err)
		}
		report, err := Run(ctx, own)
		if err := remove(ctx); err != nil {
			t.Error(err)
		}
		if err != nil || !report.OK() || len(report.Lines) != 5 || report.Effects != 7 || report.Receipts != 6 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}
