package upkeep_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

func fence(change func(*upkeep.Fence)) upkeep.Fence {
	f := upkeep.Fence{Until: noon, Since: noon.Add(-time.Hour), By: "ops", Reason: "restore", At: noon}
	change(&f)
	return f
}

func TestFenceCheck(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1001)
	for name, tt := range map[string]struct {
		change func(*upkeep.Fence)
		fine   bool
	}{
		"until now":              {func(*upkeep.Fence) {}, true},
		"until a moment to come": {func(f *upkeep.Fence) { f.Until = noon.Add(us) }, false},
		"as early as it may":     {func(f *upkeep.Fence) { f.Until, f.Early = noon.Add(time.Second), time.Second }, true},
		"earlier than it may":    {func(f *upkeep.Fence) { f.Until, f.Early = noon.Add(time.Second+us), time.Second }, false},
		"no until":               {func(f *upkeep.Fence) { f.Until, f.Since = time.Time{}, time.Time{} }, false},
		"no since":               {func(f *upkeep.Fence) { f.Since = time.Time{} }, true},
		"since its until":        {func(f *upkeep.Fence) { f.Since = noon }, true},
		"since later":            {func(f *upkeep.Fence) { f.Since = noon.Add(us) }, false},
		"nobody's":               {func(f *upkeep.Fence) { f.By = "" }, false},
		"no reason":              {func(f *upkeep.Fence) { f.Reason = "" }, false},
		"the longest":            {func(f *upkeep.Fence) { f.By, f.Reason, f.Scope, f.Operation = long[1:], long[1:], long[1:], long[:255] }, true},
		"a name too long":        {func(f *upkeep.Fence) { f.By = long }, false},
		"a reason too long":      {func(f *upkeep.Fence) { f.Reason = long }, false},
		"a scope too long":       {func(f *upkeep.Fence) { f.Scope = long }, false},
		"an operation too long":  {func(f *upkeep.Fence) { f.Operation = long[:256] }, false},
	} {
		if err := fence(tt.change).Check(noon); tt.fine != (err == nil) || err != nil && !errors.Is(err, upkeep.ErrFence) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFenceCovers(t *testing.T) {
	t.Parallel()
	id := record.Identity{Scope: "tenant=a", Operation: "orders.create", Key: "k"}
	for name, tt := range map[string]struct {
		operation, scope string
		covers           bool
	}{
		"all":              {"", "", true},
		"its operation":    {id.Operation, "", true},
		"its scope":        {"", id.Scope, true},
		"both":             {id.Operation, id.Scope, true},
		"another one":      {"orders", "", false},
		"another scope":    {"", "tenant=b", false},
		"its scope alone":  {"orders", id.Scope, false},
		"all but its case": {"Orders.create", "", false},
	} {
		f := fence(func(f *upkeep.Fence) { f.Operation, f.Scope = tt.operation, tt.scope })
		if f.Covers(id) != tt.covers {
			t.Errorf("%s: covers %t", name, !tt.covers)
		}
		for first, after := range map[time.Time]bool{noon.Add(-us): false, noon: true, noon.Add(time.Hour): true} {
			if got := f.Caused(upkeep.Review{Identity: id, First: first, Last: noon.Add(2 * time.Hour)}); got != (tt.covers && after) {
				t.Errorf("%s: caused what was refused first at %v: %t", name, first, got)
			}
		}
	}
}

func TestCheckOnce(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 128) // 256 bytes
	for _, tt := range []struct {
		rule, value string
		fine        bool
	}{
		{"r", "v", true},
		{long[:100], long[:255], true},
		{"r", "\x00", true},
		{"", "v", false},
		{"r", "", false},
		{long[:101], "v", false},
		{"r", long, false},
	} {
		if err := upkeep.CheckOnce(tt.rule, tt.value); tt.fine != (err == nil) || err != nil && (!errors.Is(err, upkeep.ErrOnce) || strings.Contains(err.Error(), "é")) {
			t.Errorf("%d and %d bytes: %v", len(tt.rule), len(tt.value), err)
		}
	}
}
