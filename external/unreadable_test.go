package external_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// TestUnreadable: one that cannot be read is told, and the rest of its provider
// goes on.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.store.unread = fmt.Errorf("operation op_x: %w", record.RecordUnreadable)
		d.start()
		o := d.accept("k")
		pass(time.Minute)
		d.want(o.Ref, record.Confirmed)
		told := false
		for _, e := range d.seen.all() {
			told = told || e.Kind == external.Failed && e.Provider == "carrier" && errors.Is(e.Err, record.RecordUnreadable)
		}
		if !told {
			t.Errorf("nobody was told:\n%s", d.seen)
		}
	})
}

// TestCasesBesideUnreadable: what can be read is shown, and what cannot is told.
func TestCasesBesideUnreadable(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.terms = operation.Terms{}
		unanswered(d)
		d.start()
		o := d.accept("k")
		pass(time.Minute)
		for _, unread := range []error{record.RecordUnreadable, record.ErrNewerFormat} {
			d.store.unread = unread
			cases, err := d.runner.Cases(t.Context(), 10)
			if !errors.Is(err, unread) || len(cases) != 1 || cases[0].Operation.Ref != o.Ref {
				t.Errorf("cases %+v, %v", cases, err)
			}
		}
		d.store.unread = errDown
		if cases, err := d.runner.Cases(t.Context(), 10); !errors.Is(err, errDown) || cases != nil {
			t.Errorf("cases %+v, %v of a store that is gone", cases, err)
		}
	})
}

// TestUnserved: operations of a provider that this runner does not have are told of
// when it starts; those of its own are not.
func TestUnserved(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.runner = d.another()
		d.accept("k")
		err := d.db.Update(t.Context(), func(tx memstore.Tx) error {
			return d.db.Operations().Add(t.Context(), tx, operation.Operation{Ref: record.NewRef(time.Now()), Step: "wave", Provider: "pigeon"})
		})
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		d.run(d.runner)
		pass(time.Hour)
		var names []string
		for _, e := range d.seen.all() {
			if e.Kind == external.Unserved {
				names = append(names, e.Provider+" "+e.Why)
			}
		}
		if want := "pigeon operations are due since 2000-01-01T00:00:00Z"; len(names) != 1 || names[0] != want {
			t.Errorf("unserved %q, want %q", names, want)
		}
	})
}
