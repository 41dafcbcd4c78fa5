package operation

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// full is an operation with everything set that has a place in the text.
func full() Operation {
	o := Operation{
		Key: "k-1", Within: 90 * time.Second, Memory: Memory{ReplayFor: time.Hour, RememberFor: 2 * time.Hour, MaxResult: 4096},
		Lease: at(1), First: at(2), NotFound: at(3), Tries: 4, Why: "<timeout> & \x00",
		Attempts: []Attempt{
			{N: 1, Opened: at(0), NotAfter: at(30), Ended: at(5), End: Lost, Note: "timeout"},
			{N: 3, Opened: at(10), NotAfter: at(40)},
		},
		Dropped:  Dropped{MayHaveLeft: 1, NotAfter: at(35)},
		Answer:   &Reply{End: Confirmed, At: at(6), Reference: "ch_1", Status: 201, Body: []byte{0, 255}, Note: "n", Stored: true, RetryAfter: time.Second, Park: true},
		Evidence: []Reply{{End: Refused, At: at(7), Status: 402}},
	}
	return o
}

// golden is what is stored: a change of it is a new Format.
const golden = `{"key":"k-1","within":90000000000,"memory":{"ReplayFor":3600000000000,"RememberFor":7200000000000,"MaxResult":4096},` +
	`"lease":"2026-03-14T09:26:54.589793Z","first":"2026-03-14T09:26:55.589793Z","notFound":"2026-03-14T09:26:56.589793Z","tries":4,"why":"\u003ctimeout\u003e \u0026 \u0000",` +
	`"attempts":[{"N":1,"Opened":"2026-03-14T09:26:53.589793Z","NotAfter":"2026-03-14T09:27:23.589793Z","Ended":"2026-03-14T09:26:58.589793Z","End":3,"Note":"timeout"},` +
	`{"N":3,"Opened":"2026-03-14T09:27:03.589793Z","NotAfter":"2026-03-14T09:27:33.589793Z","Ended":"0001-01-01T00:00:00Z","End":0,"Note":""}],` +
	`"dropped":{"MayHaveLeft":1,"NotAfter":"2026-03-14T09:27:28.589793Z"},` +
	`"answer":{"End":4,"At":"2026-03-14T09:26:59.589793Z","Reference":"ch_1","Status":201,"Body":"AP8=","Note":"n","Stored":true,"RetryAfter":1000000000,"Park":true},` +
	`"evidence":[{"End":2,"At":"2026-03-14T09:27:00.589793Z","Reference":"","Status":402,"Body":null,"Note":"","Stored":false,"RetryAfter":0,"Park":false}]}`

func TestText(t *testing.T) {
	t.Parallel()
	o := full()
	b, err := EncodeText(o)
	if err != nil || string(b) != golden {
		t.Fatalf("%v\n%s, want\n%s", err, b, golden)
	}
	decoded := full() // what the text does not have is taken away
	if err := DecodeText([]byte(golden), &decoded); err != nil || !reflect.DeepEqual(decoded, o) {
		t.Errorf("%v: %+v, want %+v", err, decoded, o)
	}
	empty := Operation{Key: "k"}
	b, err = EncodeText(empty)
	if err != nil || string(b) != `{"key":"k"}` {
		t.Errorf("%v: %s", err, b)
	}
	if err := DecodeText(b, &o); err != nil || !reflect.DeepEqual(o, empty) {
		t.Errorf("%v: %+v", err, o)
	}
	for _, torn := range []string{"", "{", golden[:len(golden)/2], "null x"} {
		if err := DecodeText([]byte(torn), &o); err == nil {
			t.Errorf("%q was decoded", torn)
		}
	}
}

// TestTextIsComplete: what has no column is in the text, also what is added later.
func TestTextIsComplete(t *testing.T) {
	t.Parallel()
	columns := map[string]bool{
		"Ref": true, "Seq": true, "Version": true, "Action": true, "Step": true, "Provider": true, "Partition": true,
		"Input": true, "State": true, "Disputed": true, "Due": true, "Created": true, "Final": true,
	}
	o := reflect.ValueOf(full())
	for i := range o.NumField() {
		if name := o.Type().Field(i).Name; o.Field(i).IsZero() != columns[name] {
			t.Errorf("%s is neither a column nor in the text of this test, or both", name)
		}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(golden), &members); err != nil || len(members) != o.NumField()-len(columns) {
		t.Errorf("%v: %d members of %d fields", err, len(members), o.NumField()-len(columns))
	}
}

// roundTrip is the operation as an engine gives it back.
func roundTrip(t *testing.T, o Operation) Operation {
	t.Helper()
	b, err := EncodeText(o)
	if err != nil {
		t.Fatal(err)
	}
	back := Operation{
		Ref: o.Ref, Seq: o.Seq, Version: o.Version, Action: o.Action, Step: o.Step, Provider: o.Provider, Partition: o.Partition,
		Input: o.Input, State: o.State, Disputed: o.Disputed, Due: o.Due, Created: o.Created, Final: o.Final,
	}
	if err := DecodeText(b, &back); err != nil {
		t.Fatal(err)
	}
	again, err := EncodeText(back)
	if err != nil || string(again) != string(b) {
		t.Fatalf("%v: %s, was %s", err, again, b)
	}
	for _, at := range []time.Time{o.Due, o.Final, o.Lease, o.First, o.NotFound, o.Dropped.NotAfter} {
		if !at.Equal(record.Micro(at)) {
			t.Fatalf("%v is finer than a microsecond", at)
		}
	}
	return back
}
