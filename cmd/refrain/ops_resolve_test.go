package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/refrain-dev/refrain/record"
)

// TestResolutionResult: what a person decides is a whole answer to replay.
func TestResolutionResult(t *testing.T) {
	body := filepath.Join(t.TempDir(), "answer")
	if err := os.WriteFile(body, []byte(`{"id":7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		give resolution
		want record.Result
	}{
		{"least", resolution{as: "confirmed"}, record.Result{Status: 200}},
		{"refused", resolution{as: "rejected"}, record.Result{Status: 409, Rejected: true}},
		{"a path is its location", resolution{as: "confirmed", status: 201, effect: "/orders/7", body: body}, record.Result{
			Status: 201, Effect: "/orders/7", Body: []byte(`{"id":7}`),
			Header: [][2]string{{"Location", "/orders/7"}, {"Content-Type", "application/json"}}}},
		{"a name is none", resolution{as: "confirmed", effect: "charge ch_7"}, record.Result{Status: 200, Effect: "charge ch_7"}},
	} {
		tt.give.reason, tt.give.by = "seen", "ops"
		if got, err := tt.give.result(); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
}
