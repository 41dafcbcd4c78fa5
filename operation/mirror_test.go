package operation

import (
	"reflect"
	"testing"

	"github.com/refrain-dev/refrain/record"
)

// TestMirror: the record that waits tells what is known, until one of the two is
// final.
func TestMirror(t *testing.T) {
	t.Parallel()
	disputed := attempts(t, Refused).Close(1, confirmation("a"), at(9), pace)
	waiting := record.Record{State: record.Accepted, Version: 3}
	final := record.Record{State: record.Rejected, Final: at(5)}
	for _, c := range []struct {
		name    string
		o       Operation
		rec     record.Record
		want    record.Record
		changed bool
	}{
		{"accepted", accepted(), waiting, waiting, false},
		{"submitted", attempts(t, Open), waiting, record.Record{State: record.Submitted, Lease: at(30), Version: 3}, true},
		{"the lease moved", attempts(t, Open), record.Record{State: record.Submitted, Lease: at(20)}, record.Record{State: record.Submitted, Lease: at(30)}, true},
		{"the same lease", attempts(t, Open), record.Record{State: record.Submitted, Lease: at(30)}, record.Record{State: record.Submitted, Lease: at(30)}, false},
		{"unknown", attempts(t, Lost), record.Record{State: record.Submitted, Lease: at(30)}, record.Record{State: record.Unknown}, true},
		{"accepted again", attempts(t, NotSent), record.Record{State: record.Submitted, Lease: at(30)}, record.Record{State: record.Accepted}, true},
		{"settled, which needs a result", attempts(t, Confirmed), waiting, waiting, false},
		{"a person decided about the record", attempts(t, Lost), final, final, false},
		{"disputed", disputed, final, record.Record{State: record.Rejected, Final: at(5), Disputed: true}, true},
		{"told already", disputed, record.Record{State: record.Rejected, Disputed: true}, record.Record{State: record.Rejected, Disputed: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, changed := c.o.Mirror(c.rec)
			if !reflect.DeepEqual(got, c.want) || changed != c.changed {
				t.Errorf("%t: %+v, want %t: %+v", changed, got, c.changed, c.want)
			}
		})
	}
}

// TestAdopt: what a person decided about the record ends its operation; what is
// heard later can contradict it.
func TestAdopt(t *testing.T) {
	t.Parallel()
	confirmed := record.Record{State: record.Confirmed, Final: at(50), Result: record.Result{Effect: "ch_1"}}
	rejected := record.Record{State: record.Rejected, Final: at(50), Result: record.Result{Rejected: true}}
	for _, o := range []Operation{accepted(), attempts(t, Open), attempts(t, Lost)} {
		got := o.Adopt(confirmed)
		if got.State != record.Confirmed || got.Answer.Reference != "ch_1" || !got.Final.Equal(at(50)) || !got.Due.IsZero() || got.Next(anything, at(99)) != Rest {
			t.Errorf("%s: %+v", o.State, got)
		}
		got = o.Adopt(rejected)
		if got.State != record.Rejected || got.Answer.End != Refused {
			t.Errorf("%s: %+v", o.State, got)
		}
		if late := got.Close(1, confirmation("ch_1"), at(60), pace); !late.Disputed {
			t.Errorf("%s: a confirmation of what was rejected is not disputed", o.State)
		}
		if same := o.Adopt(record.Record{State: record.Unknown}); !reflect.DeepEqual(same, o) {
			t.Errorf("%s: adopted a record that is not final", o.State)
		}
	}
	final := attempts(t, Confirmed)
	if got := final.Adopt(rejected); !reflect.DeepEqual(got, final) {
		t.Errorf("a final state changed: %+v", got)
	}
}
