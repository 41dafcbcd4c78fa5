package processes

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/refrain-dev/refrain"
)

// Call is one call of Execute in a history that several processes make together.
type Call struct {
	Client        int // a goroutine, of all processes
	Key           string
	Request       string // what makes two calls the same; at most two of a key
	Token         string // what the effect answers, of no other call
	Called, Ended int64  // by one clock; equal times do not order calls
	Told          string // by [Call.Answer]
	Body          string
}

// Contract is what the calls of a history are made under, but for its waiting
// times.
func Contract() refrain.Contract { return contract }

// Answer notes what the call was told.
func (c *Call) Answer(out refrain.Outcome, err error) {
	answer := answered(out, err)
	c.Told, c.Body = answer.told.String(), answer.body
}

// Judge demands that the calls are linearizable, each identity by itself, where
// a call whose outcome nobody was told may take effect at any later time. It
// counts what was told.
func Judge(calls []Call) (counts map[string]int, err error) {
	counts = make(map[string]int)
	var history []porcupine.Operation
	for _, c := range calls {
		counts[c.Told]++
		kind := executed
		for kind < lost && kind.String() != c.Told {
			kind++
		}
		switch kind {
		case inProgress, notRun: // says nothing of a record: who shares the flight of its process is told without a look
			continue
		case lost:
			c.Ended = math.MaxInt64
		}
		_, in := newInput(c.Key, c.Request, c.Token)
		history = append(history, porcupine.Operation{ClientId: c.Client, Input: in, Call: c.Called, Output: output{kind, c.Body}, Return: c.Ended})
	}
	return counts, judge(history)
}

func judge(history []porcupine.Operation) error {
	m := model.ToModel()
	result := porcupine.CheckOperationsTimeout(m, history, patience)
	if result == porcupine.Ok {
		return nil
	}
	var told strings.Builder
	for _, part := range byIdentity(history) {
		if porcupine.CheckOperationsTimeout(m, part, patience) != porcupine.Illegal {
			continue
		}
		slices.SortFunc(part, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		for _, op := range part {
			fmt.Fprintf(&told, "\n%d-%d client %d %s", op.Call, op.Return, op.ClientId, m.DescribeOperation(op.Input, op.Output))
		}
		break
	}
	return fmt.Errorf("the history is %s%s", result, told.String())
}

func answered(out refrain.Outcome, err error) output {
	switch {
	case err == nil && out.Replayed:
		return output{replayed, string(out.Body)}
	case err == nil:
		return output{executed, string(out.Body)}
	case errors.Is(err, refrain.ErrKeyReused):
		return output{told: conflict}
	case errors.Is(err, refrain.ErrInProgress):
		return output{told: inProgress}
	case errors.Is(err, refrain.ErrUnavailable), errors.Is(err, refrain.ErrNotExecuted):
		return output{told: notRun}
	}
	return output{told: lost}
}
