package memstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
)

// A shorter memory needs somebody who agrees; other dimensions are refused.
func TestRegisterShorterMemory(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{})
	c := refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 2 * time.Hour}
	if err := db.Register(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	shorter, other := c, c
	shorter.RememberFor--
	other.Dimensions = []string{"tenant"}
	if err := db.Register(t.Context(), shorter); !errors.Is(err, refrain.ErrShorterMemory) {
		t.Errorf("a shorter memory: %v", err)
	}
	contracts, err := db.Contracts(t.Context())
	if err != nil || !strings.Contains(contracts["orders.create"], `"remember_for":"PT2H"`) {
		t.Errorf("a refused Register stored %v, %v", contracts, err)
	}
	if err := db.RegisterShorter(t.Context(), other); !errors.Is(err, refrain.ErrContractChanged) {
		t.Errorf("other dimensions: %v", err)
	}
	for _, register := range []error{db.RegisterShorter(t.Context(), shorter), db.Register(t.Context(), shorter)} {
		if register != nil {
			t.Error(register)
		}
	}
}

// A contract that reads a time in keys where the one before it read none covers
// what was forgotten meanwhile.
func TestRegisterReadsMore(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC)
	db := memstore.New(memstore.Options{Now: func() time.Time { return now }})
	c := refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: time.Hour, KeyTime: refrain.KeyTimeNone}
	for _, step := range []struct {
		kt   refrain.KeyTime
		want time.Time
	}{{refrain.KeyTimeNone, time.Time{}}, {refrain.KeyTimeByShape, now}, {refrain.KeyTimeNone, now}} {
		c.KeyTime = step.kt
		if err := db.Register(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if at, err := db.Horizon(t.Context(), c.Operation); err != nil || !at.Equal(step.want) {
			t.Errorf("under %v the horizon is %v, %v; want %v", step.kt, at, err, step.want)
		}
	}
}
