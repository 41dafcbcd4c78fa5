package tour

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
)

func TestRun(t *testing.T) {
	t.Parallel()
	report, err := Run(context.Background(), engine.File(filepath.Join(t.TempDir(), "tour.db")))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range report.Lines {
		if !line.OK || line.Evidence == "" {
			t.Errorf("%+v", line)
		}
	}
	if len(report.Lines) != 5 || report.Effects != 7 || report.Receipts != 6 || !report.OK() {
		t.Errorf("report %+v", report)
	}
}

// TestRunNoticesAnEffectTooMany: a row nobody recorded makes every count wrong.
func TestRunNoticesAnEffectTooMany(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &scene{place: engine.File(filepath.Join(t.TempDir(), "tour.db"))}
	var err error
	if s.db, err = s.open(ctx); err != nil {
		t.Fatal(err)
	}
	defer s.db.Close(ctx)
	err = s.db.Migrate(ctx)
	if err == nil {
		err = s.db.Setup(ctx, s.db.SQL(schema), `INSERT INTO tour_effect VALUES (1, 'nobody', 'none', 1)`)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range s.steps() {
		if evidence, err := step.run(ctx); err == nil {
			t.Errorf("%s: taken for ok: %s", step.name, evidence)
		}
	}
}

func TestRunNeedsAFileOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	place := engine.File(filepath.Join(t.TempDir(), "tour.db"))
	if _, err := Run(ctx, place); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(ctx, place); err == nil {
		t.Error("a second tour ran in the file of the first")
	}
}

func TestReportOK(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		report Report
		ok     bool
	}{
		{Report{}, false},
		{Report{Lines: []Line{{OK: true}}}, true},
		{Report{Lines: []Line{{OK: true}, {OK: false}}}, false},
	} {
		if got := tt.report.OK(); got != tt.ok {
			t.Errorf("%+v is ok: %t", tt.report, got)
		}
	}
}
