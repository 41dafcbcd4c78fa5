package tour

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/enginetest"
	"github.com/refrain-dev/refrain/fakeprovider"
)

// TestExternalOnEveryEngine ends with the same counts, in a place of its own that
// is gone afterwards.
func TestExternalOnEveryEngine(t *testing.T) {
	enginetest.Each(t, enginetest.Engines, func(t *testing.T, db string) {
		ctx := context.Background()
		own, remove, err := enginetest.Place(t, db).Own(ctx)
		if err != nil {
			t.Fatal(err)
		}
		report, err := RunExternal(ctx, own)
		if err := remove(ctx); err != nil {
			t.Error(err)
		}
		if err != nil || !report.OK() || len(report.Lines) != 6 || report.Charges != 4 || report.Payments != 4 || report.Receipts != 5 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

// TestExternalNoticesAChargeTooMany: a provider that does not keep what it promised
// charges twice, and the tour says so.
func TestExternalNoticesAChargeTooMany(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db, err := engine.File(filepath.Join(t.TempDir(), "tour.db")).Open(ctx, engine.Options{Brief: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(ctx)
	s := &payments{db: db}
	defer s.closeBanks()
	if err := s.prepare(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.banks[dedupes].server.Set(func(s *fakeprovider.Switches) { s.Window = 0 }); err != nil {
		t.Fatal(err)
	}
	report, err := s.run(ctx)
	if err != nil || report.OK() || report.Charges != 5 || report.Payments != 4 || report.Lines[3].OK || report.Lines[5].OK {
		t.Errorf("%+v, %v", report, err)
	}
	for _, i := range []int{0, 1, 2, 4} {
		if !report.Lines[i].OK {
			t.Errorf("%+v", report.Lines[i])
		}
	}
}
