package upkeep_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// lossy is a store at noon that lost every record, and keeps what is made.
type lossy struct {
	upkeep.Keeper
	t    *testing.T
	made []record.Record
}

func (l *lossy) Contracts(context.Context) (map[string]string, error) {
	contracts := make(map[string]string)
	for operation, dimensions := range map[string][]string{"plain": nil, "regional": {"tenant", "region"}} {
		c := refrain.Contract{Operation: operation, Schema: "1", ReplayFor: time.Minute, RememberFor: time.Hour, Dimensions: dimensions}
		text, err := c.MarshalJSON()
		if err != nil {
			l.t.Error(err)
		}
		contracts[operation] = string(text)
	}
	return contracts, nil
}

func (l *lossy) Change(_ context.Context, _ record.Identity, plan func(record.Seen, time.Time) (record.Edit, error)) error {
	e, err := plan(record.Seen{}, noon)
	if err == nil && e.Put != nil {
		l.made = append(l.made, *e.Put)
	}
	return err
}

func (l *lossy) rebuild(row upkeep.Lost) (upkeep.Rebuilt, error) {
	return upkeep.Rebuild(l.t.Context(), l, func(yield func(upkeep.Lost, error) bool) { yield(row, nil) }, "ann", "restored")
}

func lost(scope, operation string, at time.Time) upkeep.Lost {
	return upkeep.Lost{Identity: record.Identity{Scope: scope, Operation: operation, Key: "k"}, Effect: "/orders/1", At: at}
}

// TestRebuildScope: a tombstone is made where a call of its contract will look.
func TestRebuildScope(t *testing.T) {
	t.Parallel()
	l := &lossy{t: t}
	for _, tt := range []struct {
		scope, operation string
		fine             bool
	}{
		{refrain.Tenant("north").String(), "plain", true},
		{refrain.Tenant("a=b&c d/ü").Subject("ann").String(), "plain", true},
		{refrain.Tenant("north").With("region", "eu").String(), "regional", true},
		{"north", "plain", false},
		{"tenant", "plain", false},
		{"tenant=", "plain", false},
		{"tenant=" + strings.Repeat("x", 256), "plain", false},
		{"tennant=north", "plain", false},
		{"Tenant=north", "plain", false},
		{"tenant=no%72th", "plain", false}, // the store writes north
		{"tenant=north%", "plain", false},
		{"tenant=a b", "plain", false},
		{"tenant=north&", "plain", false},
		{"tenant=north&region=eu", "plain", false},
		{"tenant=north", "regional", false},
		{"region=eu&tenant=north", "regional", false},
	} {
		l.made = nil
		done, err := l.rebuild(lost(tt.scope, tt.operation, noon.Add(-time.Minute)))
		if tt.fine != (err == nil) || tt.fine != (done.Made == 1) || len(l.made) != done.Made || err != nil && !errors.Is(err, upkeep.ErrLost) {
			t.Errorf("%.40q of %s: %+v, %v", tt.scope, tt.operation, done, err)
		}
	}
}

// TestRebuildTime: a row's time may be as late as another clock is ahead.
func TestRebuildTime(t *testing.T) {
	t.Parallel()
	l := &lossy{t: t}
	row := lost("tenant=north", "plain", noon.Add(5*time.Minute))
	if done, err := l.rebuild(row); err != nil || done.Made != 1 || !l.made[0].RememberUntil.Equal(row.At.Add(time.Hour)) {
		t.Errorf("%+v, %v", done, err)
	}
	row.At = row.At.Add(us)
	if done, err := l.rebuild(row); !errors.Is(err, upkeep.ErrLost) || done.Made != 0 || len(l.made) != 1 {
		t.Errorf("later than clocks are apart: %+v, %v", done, err)
	}
}
