package record

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"
)

// Claim is one validated call as an engine sees it.
type Claim struct {
	Identity Identity
	Hash     [16]byte // of Identity
	Policy   Policy
	Request  Request
	Actor    string

	// IdentityVersion names the scope dimensions the contract declares. A store
	// that holds another one for the operation executes nothing.
	IdentityVersion string
	// Hasty: nobody has looked yet; a transaction that is not to be had at once
	// is given up, because a lookup may already have the answer.
	Hasty bool

	// Contract makes the contract's published form, JSON, as it is registered
	// with the operation.
	Contract func() ([]byte, error)
}

// Begin makes the record of a new execution at now, not final yet. Its ref is
// known to the effect, so a business row can carry it.
func (c *Claim) Begin(now time.Time) *Record {
	return &Record{
		Identity: c.Identity,
		Ref:      NewRef(now),
		Version:  1,
		Format:   Format,
		State:    Submitted,
		Print:    c.Request.Print,
		Actor:    c.Actor,
		Created:  Micro(now),
		Attempt:  1,
		Fence:    now.UnixMicro(),
	}
}

// errOverrun is the cause of an effect's context when MaxExecution ended it.
var errOverrun = errors.New("the effect ran longer than MaxExecution")

// Bound returns the context an effect runs on: it knows the record (see
// [Entered]) and ends after MaxExecution.
func (c *Claim) Bound(ctx context.Context, rec *Record) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(&bound{ctx, rec, c.Policy}, c.Policy.MaxExecution, errOverrun)
}

// bound is an effect's context and what it knows.
type bound struct {
	context.Context
	rec    *Record
	policy Policy
}

func (b *bound) Value(key any) any {
	if key == (nestedKey{}) {
		return b
	}
	return b.Context.Value(key)
}

// Accept is for package external: the effect that runs on ctx has accepted an
// external operation in its transaction, so its record is to be left accepted
// and the operation settles it. It returns the record and the policy it will be
// kept by; ok is false outside an effect.
func Accept(ctx context.Context) (rec *Record, policy Policy, ok bool) {
	b, ok := ctx.Value(nestedKey{}).(*bound)
	if !ok {
		return nil, Policy{}, false
	}
	b.rec.State = Accepted
	return b.rec, b.policy, true
}

// Settle ends a run of the effect: rec becomes final with result, or it stays
// accepted, without a result, where the effect called [Accept]. What a rejected
// effect accepted is rolled back with its writes.
func (c *Claim) Settle(rec *Record, result Result, now time.Time) {
	if rec.State == Accepted && !result.Rejected {
		rec.Result = Result{}
		return
	}
	rec.Settle(result, now, c.Policy)
}

// Failed turns what ended an effect into the error the engine returns after
// rolling back: row 14 when MaxExecution ended it, else the effect's own error.
func (c *Claim) Failed(bounded context.Context, err error, wrote bool) error {
	if context.Cause(bounded) == errOverrun {
		return &Error{Problem: NotExecuted, Row: "14", Err: errors.Join(errOverrun, err)}
	}
	return &Error{Problem: HandlerFailed, Wrote: wrote, Err: err}
}

var errUnawaited = errors.New("the effect rolled back the external operation its action was to wait for")

// Unawaited is for engines that let an effect use savepoints: the error of a
// record that is to stay accepted while no operation of its transaction would
// ever settle it.
func Unawaited() error { return &Error{Problem: HandlerFailed, Wrote: true, Err: errUnawaited} }

// Keep fits a result into the policy: a body longer than MaxResult keeps its
// digest where the contract says so, else it is row 15 and must be rolled back.
func (c *Claim) Keep(result Result) (Result, error) {
	if int64(len(result.Body)) <= c.Policy.MaxResult {
		return result, nil
	}
	if !c.Policy.Digest {
		return Result{}, &Error{Problem: ResponseTooLarge, Row: "15",
			Err: fmt.Errorf("%d bytes, %d allowed", len(result.Body), c.Policy.MaxResult)}
	}
	sum := sha256.Sum256(result.Body)
	result.Body, result.Digest = nil, sum[:]
	return result, nil
}

type (
	enteredKey struct{}
	nestedKey  struct{}
)

// Enter returns the context of a handler that works on rec and commits for
// itself. Engines use [Claim.Bound].
func Enter(ctx context.Context, rec *Record) context.Context {
	return context.WithValue(ctx, enteredKey{}, rec)
}

// Nested reports whether ctx is that of an effect, inside an engine's transaction.
func Nested(ctx context.Context) bool { return ctx.Value(nestedKey{}) != nil }

// Entered returns the record whose effect or handler runs on ctx.
func Entered(ctx context.Context) (*Record, bool) {
	if b, ok := ctx.Value(nestedKey{}).(*bound); ok {
		return b.rec, true
	}
	rec, ok := ctx.Value(enteredKey{}).(*Record)
	return rec, ok
}
