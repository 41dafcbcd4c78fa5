package refrain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/record"
)

// Call is one attempt at an action.
type Call struct {
	Contract Contract
	Scope    Scope
	// Key is the client's key, 1 to 255 bytes of any kind, compared byte for
	// byte. (An HTTP header can carry visible ASCII and, in quotes, spaces.)
	Key string
	// Input is what makes two calls the same request: bytes as they are, or a
	// value that is marshalled to JSON once. Nil makes all calls with one key the
	// same request.
	Input any
	// Actor is the acting principal, stored beside the identity.
	Actor string
	// Fresh says that Key was made for this call alone: it cannot be a retry, and
	// no recovery fence holds it up. For callers without a key of their client's.
	Fresh bool
	// Wait shortens the contract's Wait for this call; negative means none.
	Wait time.Duration

	// Print replaces Input where the caller has fingerprinted the request
	// itself, as the HTTP guard does; Recompute does so under another rule.
	Print     *fingerprint.Print
	Recompute func(rule, schema string) (digest [32]byte, ok bool)
}

// Claim validates the call and returns it as engines see it. A contract or a
// scope that is wrong is a plain error; a key or an input that is wrong is an
// [*Error].
func (c Call) Claim() (*record.Claim, error) {
	if err := c.Contract.Validate(); err != nil {
		return nil, err
	}
	if err := c.Scope.check(c.Contract.Dimensions); err != nil {
		return nil, err
	}
	if c.Key == "" {
		return nil, &Error{Problem: ErrKeyMissing, Row: "11"}
	}
	if len(c.Key) > record.MaxKey {
		return nil, &Error{Problem: ErrKeyInvalid, Row: "11", Err: fmt.Errorf("%d bytes, %d allowed", len(c.Key), record.MaxKey)}
	}
	print, err := c.print()
	if err != nil {
		return nil, err
	}
	policy := c.Contract.Policy()
	if c.Wait != 0 {
		policy.Wait = min(policy.Wait, max(c.Wait, 0))
	}
	id := Identity{Scope: c.Scope.encoded, Operation: c.Contract.Operation, Key: c.Key}
	return &record.Claim{
		Identity:        id,
		Hash:            id.Hash(),
		Policy:          policy,
		Request:         record.Request{Key: c.Key, Fresh: c.Fresh, Print: print, Recompute: c.Recompute},
		Actor:           c.Actor,
		IdentityVersion: c.Contract.IdentityVersion(),
		Contract:        c.Contract.MarshalJSON,
	}, nil
}

// run is how an engine carries out a claim: it returns the record and whether
// its own effect made it.
type run = func(ctx context.Context, claim *record.Claim) (rec *record.Record, fresh bool, err error)

// Drive is for engine authors: it runs one call through d and returns its
// outcome, telling obs (which may be nil) the decision.
func (c Call) Drive(ctx context.Context, d *record.Driver, obs Observer, execute run) (Outcome, error) {
	return c.observed(ctx, obs, func(claim *record.Claim) (*record.Record, bool, error) {
		return d.Drive(ctx, claim, func(ctx context.Context) (*record.Record, bool, error) { return execute(ctx, claim) })
	})
}

// Join is Drive inside a transaction of the caller's: no flight, no waiting, and
// an outcome that is provisional until the caller commits.
func (c Call) Join(ctx context.Context, obs Observer, execute run) (Outcome, error) {
	return c.observed(ctx, obs, func(claim *record.Claim) (*record.Record, bool, error) {
		if record.Nested(ctx) {
			return nil, false, ErrNested
		}
		rec, fresh, err := execute(ctx, claim)
		if err != nil && !errors.Is(err, ErrRetryTransaction) {
			err = record.Unavailable(err)
		}
		return rec, fresh, err
	})
}

func (c Call) observed(ctx context.Context, obs Observer, answer func(*record.Claim) (*record.Record, bool, error)) (Outcome, error) {
	started := time.Now()
	claim, err := c.Claim()
	var rec *record.Record
	var fresh bool
	if err == nil {
		rec, fresh, err = answer(claim)
	}
	if obs != nil {
		obs.Observe(ctx, event(c.Contract.Operation, rec, fresh, err, time.Since(started)))
	}
	if err != nil {
		return Outcome{}, err
	}
	return outcome(rec, fresh), nil
}

func event(operation string, rec *record.Record, fresh bool, err error, took time.Duration) Event {
	e := Event{Operation: operation, Took: took, Err: err, Replayed: err == nil && !fresh}
	var refusal *Error
	switch {
	case errors.As(err, &refusal):
		e.Row, e.Problem, e.Ref = refusal.Row, refusal.Problem, refusal.Ref
	case err != nil:
	case fresh:
		e.Row, e.Ref = "1", rec.Ref
	case rec.State.Final():
		e.Row, e.Ref = "3", rec.Ref
	default:
		e.Row, e.Ref = "6b", rec.Ref
	}
	return e
}

func outcome(rec *record.Record, fresh bool) Outcome {
	return Outcome{
		Result:        rec.Result,
		Ref:           rec.Ref,
		State:         rec.State,
		Replayed:      !fresh,
		Actor:         rec.Actor,
		CreatedAt:     rec.Created,
		ReplayUntil:   rec.ReplayUntil,
		RememberUntil: rec.RememberUntil,
	}
}
