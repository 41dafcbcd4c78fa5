package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Effect is a [Step] whose input and answer are Go values, kept as JSON. Its
// fields are those of Step.
type Effect[T, In, Out any] struct {
	Name     string
	Provider string
	Needs    Needs
	Within   time.Duration
	Pace     operation.Pace
	Settle   func(ctx context.Context, tx T, s Outcome[In, Out]) (record.Result, error)
}

// Outcome is [Settled] with its values.
type Outcome[In, Out any] struct {
	Settled
	Input In
	// Answer is the body of the reply; its zero value where there is none, as
	// after a person's decision, or where Undecoded says why it is no Out.
	Answer    Out
	Undecoded error
}

// Defined is an effect that a runner was made with.
type Defined[T, In any] struct {
	step   Step[T]
	runner *Runner[T]
}

// Define declares an effect. Give its Step to [New]; then Accept accepts it.
func Define[T, In, Out any](e Effect[T, In, Out]) *Defined[T, In] {
	d := &Defined[T, In]{step: Step[T]{Name: e.Name, Provider: e.Provider, Needs: e.Needs, Within: e.Within, Pace: e.Pace}}
	if e.Settle != nil {
		d.step.Settle = func(ctx context.Context, tx T, s Settled) (record.Result, error) {
			out := Outcome[In, Out]{Settled: s}
			if err := json.Unmarshal(s.Operation.Input, &out.Input); err != nil {
				return record.Result{}, fmt.Errorf("external: the input of step %q: %w", e.Name, err)
			}
			if len(s.Reply.Body) > 0 {
				if err := json.Unmarshal(s.Reply.Body, &out.Answer); err != nil {
					var none Out
					out.Answer, out.Undecoded = none, err
				}
			}
			return e.Settle(ctx, tx, out)
		}
	}
	d.step.bind = func(r *Runner[T]) { d.runner = r }
	return d
}

// Step is what [New] takes.
func (d *Defined[T, In]) Step() Step[T] { return d.step }

// Accept writes the intent with in as its input; see [Runner.Accept].
func (d *Defined[T, In]) Accept(ctx context.Context, tx T, in In) (operation.Operation, error) {
	if d.runner == nil {
		return operation.Operation{}, errors.New("external: step " + d.step.Name + " was not given to New")
	}
	input, err := json.Marshal(in)
	if err != nil {
		return operation.Operation{}, fmt.Errorf("external: the input of step %q: %w", d.step.Name, err)
	}
	return d.runner.Accept(ctx, tx, Intent{Step: d.step.Name, Input: input})
}

// JSON renders v as the answer an action's record keeps: over HTTP with this
// status and as application/json, and with status 0 as refrain.Do reads it.
func JSON(status int, v any) (record.Result, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return record.Result{}, fmt.Errorf("external: the answer: %w", err)
	}
	result := record.Result{Status: status, Body: body}
	if status != 0 {
		result.Header = [][2]string{{"Content-Type", "application/json"}}
	}
	return result, nil
}
