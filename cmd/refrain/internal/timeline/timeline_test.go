package timeline

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// TestOfTellsNoSecret: everything a person needs is there, and neither the key nor
// the payload nor a body.
func TestOfTellsNoSecret(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	said := operation.Reply{End: operation.Confirmed, At: at, Reference: "ch_7", Status: 201, Body: []byte("hidden-body"), Note: "status 201"}
	o := operation.Operation{
		Ref: "op_x", Step: "charge", Provider: "bank", Key: "hidden-key", Input: []byte("hidden-input"), Created: at,
		State: record.Confirmed, Disputed: true, Final: at, Why: "two answers",
		Attempts: []operation.Attempt{{N: 1, Opened: at, NotAfter: at, Ended: at, End: operation.Lost, Note: "no whole answer"}, {N: 2, Opened: at, NotAfter: at}},
		Dropped:  operation.Dropped{MayHaveLeft: 3},
		Answer:   &said, Evidence: []operation.Reply{{End: operation.Refused, At: at, Status: 402, Body: []byte("hidden-body")}},
	}
	text, err := json.Marshal(All([]operation.Operation{o}))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hidden") {
		t.Errorf("%s tells a secret", text)
	}
	for _, want := range []string{
		`"ref":"op_x"`, `"state":"confirmed","disputed":true,"why":"two answers","created_at":"2026-03-01T11:00:00Z"`, `"attempts_omitted":3`,
		`"ended_at":"2026-03-01T11:00:00Z","end":"lost","note":"no whole answer"`, `"end":"open"`,
		`"answer":{"end":"confirmed","at":"2026-03-01T11:00:00Z","reference":"ch_7","status":201,"note":"status 201"}`, `"evidence":[{"end":"refused"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
	if strings.Contains(string(text), "due_at") {
		t.Errorf("%s has a time that is not fixed", text)
	}
	if none := All(nil); none == nil {
		t.Error("no list is not an empty one")
	}
}
