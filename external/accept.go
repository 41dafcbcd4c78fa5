package external

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

var (
	// ErrNoStep: the runner has no step of this name.
	ErrNoStep = errors.New("external: no such step")
	// ErrNoAction: Accept outside an effect needs Intent.Detached.
	ErrNoAction = errors.New("external: no action runs here that could wait for the operation; see Intent.Detached")
	// ErrWaits: an action waits for one operation at a time; the next one is
	// accepted by Step.Settle, and what nobody waits for is detached.
	ErrWaits = errors.New("external: the action waits for an operation already, or is decided")
)

// Intent is an external effect to be.
type Intent struct {
	// Step by its name.
	Step string
	// Input is what is submitted, the same at every attempt: at most
	// [operation.MaxInput] bytes. It is copied.
	Input []byte
	// Partition orders: operations of one provider and partition are submitted in
	// the order of their insertion, each after the one before it was settled or
	// parked. "" means no order; at most 255 bytes of UTF-8 without a NUL.
	Partition string
	// Detached: no action waits for it. Without it Accept needs the context of an
	// effect or of Step.Settle, and the action's record stays open until this
	// operation is settled.
	Detached bool
}

// Accept writes the intent in the transaction tx, in which it is either committed
// with everything else or gone. After the COMMIT a runner submits it. What it
// returns is as it was given to the store.
//
// Errors: [ErrNoStep], [ErrNoAction], [ErrWaits], [operation.ErrAccepted] where
// the action has had this step, or the store's.
func (r *Runner[T]) Accept(ctx context.Context, tx T, in Intent) (operation.Operation, error) {
	step, known := r.steps[in.Step]
	switch {
	case !known:
		return operation.Operation{}, fmt.Errorf("%w: %q", ErrNoStep, in.Step)
	case len(in.Input) > operation.MaxInput:
		return operation.Operation{}, fmt.Errorf("external: an input of %d bytes, %d are allowed", len(in.Input), operation.MaxInput)
	case len(in.Partition) > operation.MaxPartition || !isText(in.Partition):
		return operation.Operation{}, fmt.Errorf("external: Intent.Partition is text of at most %d bytes", operation.MaxPartition)
	}
	o := operation.Operation{
		Ref: record.NewRef(time.Now()), Step: step.Name, Provider: step.Provider, Partition: in.Partition,
		Input: bytes.Clone(in.Input), Within: step.Within, State: record.Accepted,
	}
	var waiting *record.Record
	if !in.Detached {
		var err error
		if waiting, o.Memory, err = waits(ctx); err != nil {
			return operation.Operation{}, err
		}
		if step.Settle == nil {
			waiting.State = record.Submitted
			return operation.Operation{}, fmt.Errorf("external: an action cannot wait for step %q: it has no Settle", step.Name)
		}
		o.Action = waiting.Ref
	}
	o.Key = keyOf(o)
	if err := r.store.Add(ctx, tx, o); err != nil {
		if waiting != nil {
			waiting.State = record.Submitted
		}
		return operation.Operation{}, err
	}
	r.observe(ctx, o, Event{Kind: Accepted})
	r.lanes[o.Provider].wake()
	return o, nil
}

// waits marks the record of the action that runs on ctx as waiting.
func waits(ctx context.Context) (*record.Record, operation.Memory, error) {
	if !record.Nested(ctx) {
		return nil, operation.Memory{}, ErrNoAction
	}
	if rec, _ := record.Entered(ctx); rec.State == record.Accepted {
		return nil, operation.Memory{}, ErrWaits
	}
	rec, policy, _ := record.Accept(ctx)
	return rec, operation.Memory{ReplayFor: policy.ReplayFor, RememberFor: policy.RememberFor, MaxResult: policy.MaxResult}, nil
}

// keySize is the length of the keys we derive, in bytes.
const keySize = 36

// keyOf derives the provider's key from what the operation is, so that it is the
// same whoever derives it: a UUID of version 8 (RFC 9562 §5.8), lower case.
func keyOf(o operation.Operation) string {
	of := o.Action
	if of == "" {
		of = o.Ref
	}
	sum := sha256.Sum256([]byte(of + "\x00" + o.Step))
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	s := hex.EncodeToString(sum[:16])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
