package refrainhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// The defaults of a [Guard].
const (
	DefaultPerScope       = 1000 // claims, and waiting duplicates
	DefaultHeader         = "Idempotency-Key"
	DefaultReplayedHeader = "Idempotent-Replayed"
	DefaultProblemBase    = "https://refrain.dev/problems"
	DefaultChallenge      = "Bearer"
)

// Guard is what all guarded routes of a service share. Principal is required;
// everything else has a default.
type Guard struct {
	// Principal verifies who asks and whether they may, and returns the scope
	// they act in. ErrUnauthenticated is answered 401 with Challenge,
	// ErrForbidden 403; any other error, and an empty scope, 503. It runs
	// before anything is looked up, for replays too, and must not read the body.
	Principal func(*http.Request) (refrain.Scope, error)
	// Actor names the acting principal, stored beside the identity.
	Actor func(*http.Request) string
	// MayReplay, if set, is asked before a remembered action is shown to a caller
	// in its scope: replays, row 5, 202 and [Status]. false is answered 403; the
	// action is not repeated either. The outcome's Actor says who acted.
	MayReplay func(r *http.Request, out refrain.Outcome) bool
	// Challenge is the WWW-Authenticate field of a 401, by default "Bearer".
	Challenge string

	// Header is the key's field, by default Idempotency-Key.
	Header string
	// Strict refuses keys that are not RFC 9651 strings in double quotes.
	Strict bool
	// ReplayedHeader marks replays with "true", by default Idempotent-Replayed.
	ReplayedHeader string
	// ProblemBase is the absolute URI problem types start with: the type of
	// key-reused is ProblemBase + "#key-reused". By default
	// https://refrain.dev/problems; point it at your own documentation.
	ProblemBase string
	// StatusPath is where [Status] is mounted, a path such as "/v1/operations"
	// or a whole URL. With it, answers link to the record's status and to asking
	// by key.
	StatusPath string

	// Await, if set, is asked under [Handle] after a handler has accepted an
	// external operation and its transaction has committed: it returns when the
	// action with ref is settled, or after d, which is the contract's Wait or less
	// by the client's preference. The answer is then the record's: the stored
	// result, as every repeat gets it, or 202 with the state. Use
	// external.Runner.Await.
	Await func(ctx context.Context, ref string, d time.Duration) error

	// MaxClaimsPerScope bounds the actions of one scope that are under way on one
	// wrapped route of this process, handlers that outlived their request
	// included; beyond it row 9, and nothing is executed. MaxWaitersPerScope
	// bounds the requests of one scope that wait for somebody else's; beyond it
	// row 6 at once. 0 means 1,000, a negative number no bound.
	MaxClaimsPerScope, MaxWaitersPerScope int

	// Observer is told what the guard decides without the engine: rows 11, 12,
	// 13 and 15, and requests that pass without a key. The engine has its own.
	// Under [Wrap] no engine decides, and it is told everything; an outcome that
	// is not known or could not be written is an event more, told where the
	// handler ran.
	Observer refrain.Observer
	// Now is the clock of Date fields and of keys the guard makes for requests
	// without one; nil means time.Now.
	Now func() time.Time
}

func (g Guard) withDefaults() Guard {
	g.Challenge = orElse(g.Challenge, DefaultChallenge)
	g.Header = textproto.CanonicalMIMEHeaderKey(orElse(g.Header, DefaultHeader))
	g.ReplayedHeader = textproto.CanonicalMIMEHeaderKey(orElse(g.ReplayedHeader, DefaultReplayedHeader))
	g.ProblemBase = orElse(g.ProblemBase, DefaultProblemBase)
	g.StatusPath = strings.TrimSuffix(g.StatusPath, "/")
	if g.Now == nil {
		g.Now = time.Now
	}
	return g
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// authenticate is row 12: the scope of a verified caller, or the refusal.
func (g *Guard) authenticate(r *http.Request) (refrain.Scope, *record.Error) {
	scope, err := g.Principal(r)
	switch {
	case errors.Is(err, refrain.ErrUnauthenticated):
		return scope, &record.Error{Problem: record.PrincipalMissing, Row: "12", Err: err}
	case errors.Is(err, refrain.ErrForbidden):
		return scope, &record.Error{Problem: record.Forbidden, Row: "12", Err: err}
	case err == nil && scope == refrain.Scope{}:
		err = errors.New("refrainhttp: Guard.Principal returned an empty scope")
	}
	if err != nil {
		return scope, &record.Error{Problem: record.PrincipalUnproven, Row: "12", RetryAfter: time.Second, Err: err}
	}
	return scope, nil
}

// key is row 11: the decoded key, "" without an error where an optional key is absent.
func (g *Guard) key(r *http.Request, optional bool) (string, *record.Error) {
	lines := r.Header[g.Header]
	if optional && len(lines) == 0 {
		return "", nil
	}
	key, err := ParseKey(lines, g.Strict)
	switch {
	case errors.Is(err, ErrKeyMissing):
		return "", &record.Error{Problem: record.KeyMissing, Row: "11", Err: err}
	case err != nil:
		return "", &record.Error{Problem: record.KeyInvalid, Row: "11", Err: err}
	}
	return key, nil
}

// check reports what makes a guard and a contract unfit to serve.
func (g *Guard) check(c refrain.Contract) error {
	if g.Principal == nil {
		return fmt.Errorf("refrainhttp: Guard.Principal is missing: %q would be open to everybody", c.Operation)
	}
	if err := c.Validate(); err != nil {
		return err
	}
	for _, safe := range []string{"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"} {
		if slices.Contains(c.Methods, safe) {
			return fmt.Errorf("refrainhttp: Contract.Methods of %q has %s, which is never guarded", c.Operation, safe)
		}
	}
	return nil
}

// may asks MayReplay.
func (g *Guard) may(r *http.Request, out refrain.Outcome) bool {
	return g.MayReplay == nil || g.MayReplay(r, out)
}

// withheld is the refusal of a caller who may not see what another one did.
func withheld() *record.Error {
	return &record.Error{Problem: record.Forbidden, Row: "12", Err: &answerFault{record.Forbidden,
		"Another caller did this, and you may not see the answer. Nothing was executed."}}
}

// outcomeOf is a record as its callers know it.
func outcomeOf(rec *record.Record) refrain.Outcome {
	return refrain.Outcome{
		Result: rec.Result, Ref: rec.Ref, State: rec.State, Replayed: true, Actor: rec.Actor,
		CreatedAt: rec.Created, ReplayUntil: rec.ReplayUntil, RememberUntil: rec.RememberUntil,
	}
}
