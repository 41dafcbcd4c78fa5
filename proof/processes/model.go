package processes

import (
	"bytes"
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// told is what a call of Execute was told.
type told int

const (
	executed told = iota
	replayed
	conflict
	inProgress
	notRun // refused, with nothing executed
	lost   // anything may have happened
)

func (k told) String() string {
	return [...]string{"executed", "replayed", "conflict", "in progress", "not run", "lost"}[k]
}

// input is one call as the model sees it. made is the record it would leave;
// its body tells the call apart from all others.
type input struct {
	claim *record.Claim
	made  *record.Record
}

// output is what the call was told, and with what body.
type output struct {
	told told
	body string
}

var contract = refrain.Contract{
	Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour, Wait: -1,
}

// modelTime is the model's now: within the memory of everything.
var modelTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newInput is the call of key with this request, whose effect answers token.
func newInput(key, request, token string) (refrain.Call, input) {
	call := refrain.Call{Contract: contract, Scope: refrain.Tenant("north"), Key: key, Input: []byte(request)}
	claim, err := call.Claim()
	if err != nil { // constants
		panic(err)
	}
	made := claim.Begin(modelTime)
	made.Settle(record.Result{Body: []byte(token)}, modelTime, claim.Policy)
	return call, input{claim, made}
}

// model is one identity: no record, then one. What a call may be told, and what
// it leaves, is decided by [record.Decide] itself.
var model = porcupine.NondeterministicModel{
	Partition: byIdentity,
	Init:      func() []any { return []any{(*record.Record)(nil)} },
	Step: func(state, in, out any) []any {
		return step(state.(*record.Record), in.(input), out.(output))
	},
	DescribeOperation: func(in, out any) string {
		i, o := in.(input), out.(output)
		return fmt.Sprintf("%s %s: %s %s", i.claim.Identity.Key, i.made.Result.Body, o.told, o.body)
	},
	DescribeState: func(state any) string {
		if rec := state.(*record.Record); rec != nil {
			return string(rec.Result.Body)
		}
		return "none"
	},
}

func step(rec *record.Record, in input, out output) (next []any) {
	d := record.Decide(in.claim.Policy, record.Seen{Record: rec}, in.claim.Request, modelTime)
	fits := false
	switch out.told {
	case executed:
		if d.Action == record.Execute && out.body == string(in.made.Result.Body) {
			return []any{in.made}
		}
		return nil
	case replayed:
		fits = d.Action == record.Replay && bytes.Equal(rec.Result.Body, []byte(out.body))
	case conflict:
		fits = d.Problem == record.KeyReused
	case inProgress: // a committed record is seen by everybody who comes later
		fits = d.Action == record.Execute
	case notRun:
		fits = true
	case lost:
		if d.Action == record.Execute {
			next = append(next, in.made)
		}
		fits = true
	}
	if fits {
		next = append(next, rec)
	}
	return next
}

func byIdentity(history []porcupine.Operation) (parts [][]porcupine.Operation) {
	at := make(map[record.Identity]int)
	for _, op := range history {
		id := op.Input.(input).claim.Identity
		i, known := at[id]
		if !known {
			i = len(parts)
			at[id], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], op)
	}
	return parts
}
