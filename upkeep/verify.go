package upkeep

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Verify checks every record of a database, and what stands beside them, against
// what must always hold. It reads alone, page by page: on a live database what
// changes meanwhile is seen before or after its change.
type Verify struct {
	Store Keeper
	// Effect looks up the business data that an effect reference names: whether it
	// is there, and when it was made; a zero time is not compared. nil asks nobody.
	Effect func(ctx context.Context, rec record.Record) (at time.Time, found bool, err error)
	// Forgotten are records that were archived before they were forgotten: the
	// horizon must cover them. nil: none.
	Forgotten func(yield func(record.Record, error) bool)
}

// Verified is what a check of a database found.
type Verified struct {
	Records int       `json:"records"`
	Checks  []Verdict `json:"checks"`
}

// Verdict is one thing that must hold.
type Verdict struct {
	Check  string   `json:"check"`
	Holds  string   `json:"holds"`  // what must hold
	Looked int      `json:"looked"` // at how much
	Faults int      `json:"faults"`
	First  []string `json:"first"` // up to ten faults: what, and why
}

// OK reports whether all of it holds.
func (v Verified) OK() bool {
	return !slices.ContainsFunc(v.Checks, func(c Verdict) bool { return c.Faults > 0 })
}

func (v *Verdict) fault(format string, args ...any) {
	v.Faults++
	if len(v.First) < 10 {
		v.First = append(v.First, fmt.Sprintf(format, args...))
	}
}

// Run checks. An error means that the check could not be finished, not that
// something is wrong; faults are in the result.
func (v Verify) Run(ctx context.Context) (Verified, error) {
	c, err := v.begin(ctx)
	if err != nil {
		return Verified{}, err
	}
	records := 0
	for after, more := "", true; more; {
		page, err := v.Store.Walk(ctx, after, 500)
		if err != nil {
			return Verified{}, err
		}
		for ref, why := range page.Unreadable {
			c.readable.Looked++
			c.readable.fault("%s: %v", ref, why)
		}
		for i := range page.Records {
			if err := c.record(ctx, &page.Records[i]); err != nil {
				return Verified{}, err
			}
		}
		records += len(page.Records) + len(page.Unreadable)
		after, more = page.Next, page.Next != ""
	}
	if err := c.beside(ctx); err != nil {
		return Verified{}, err
	}
	done := Verified{Records: records}
	for _, check := range c.all() {
		if check != &c.effects || v.Effect != nil {
			done.Checks = append(done.Checks, *check)
		}
	}
	return done, nil
}

// checking is one run of a verification.
type checking struct {
	Verify
	spans  []Span
	lastID string
	now    time.Time

	readable, identities, states, results, prints, deadlines, effects Verdict
	horizons, fences, reviews, reaper                                 Verdict
}

func (v Verify) begin(ctx context.Context) (*checking, error) {
	c := &checking{Verify: v}
	is, err := v.Store.Incarnation(ctx)
	if err != nil {
		return nil, err
	}
	c.now = is.At
	if c.spans, err = v.Store.Spans(ctx); err != nil {
		return nil, err
	}
	for check, about := range map[*Verdict][2]string{
		&c.readable:   {"readable", "every record can be decoded and belongs to the hash it is under"},
		&c.identities: {"identities", "no two records share a ref; identities are whole"},
		&c.states:     {"states", "states are legal, and final ones have their times"},
		&c.results:    {"results", "what is replayable has its result"},
		&c.prints:     {"fingerprints", "a fingerprint has a rule, or the record was rebuilt"},
		&c.deadlines:  {"deadlines", "deadlines follow each other from finality"},
		&c.effects:    {"effects", "effect references resolve, to what is no older than the record"},
		&c.horizons:   {"horizons", "the horizon covers whatever was forgotten"},
		&c.fences:     {"fences", "fences do not reach into the future and end after they began"},
		&c.reviews:    {"reviews", "nothing is under review that has a record"},
		&c.reaper:     {"reaper", "what the reaper has seen is without a gap, and nothing is overdue behind it"},
	} {
		check.Check, check.Holds = about[0], about[1]
	}
	return c, nil
}

func (c *checking) all() []*Verdict {
	return []*Verdict{&c.readable, &c.identities, &c.states, &c.results, &c.prints, &c.deadlines, &c.effects,
		&c.horizons, &c.fences, &c.reviews, &c.reaper}
}

// record checks one record.
func (c *checking) record(ctx context.Context, rec *record.Record) error {
	for _, check := range []*Verdict{&c.readable, &c.identities, &c.states, &c.results, &c.prints, &c.deadlines, &c.reaper} {
		check.Looked++
	}
	id := rec.Identity
	if !record.ValidRef(rec.Ref) || rec.Ref <= c.lastID {
		c.identities.fault("%s: not a ref behind %s", rec.Ref, c.lastID)
	}
	c.lastID = rec.Ref
	if id.Scope == "" || id.Operation == "" || id.Key == "" {
		c.identities.fault("%s: a part of its identity is missing", rec.Ref)
	}
	if why := illegal(rec); why != "" {
		c.states.fault("%s: %s", rec.Ref, why)
	}
	if rec.Print.Rule == "" && rec.Print.Raw != [32]byte{} {
		c.prints.fault("%s: no rule", rec.Ref)
	}
	if rec.State.Final() {
		c.final(rec)
	}
	if c.Effect == nil || rec.State != record.Confirmed || rec.Disputed || rec.Result.Effect == "" {
		return nil
	}
	c.effects.Looked++
	at, found, err := c.Effect(ctx, *rec)
	switch {
	case err != nil:
		return fmt.Errorf("refrain: the effect of %s: %w", rec.Ref, err)
	case !found:
		c.effects.fault("%s: %s is not there", rec.Ref, rec.Result.Effect)
	case !at.IsZero() && rec.Print.Rule != "" && rec.Created.After(at.Add(clocksApart)):
		c.effects.fault("%s: made %s, its effect %s", rec.Ref, rec.Created.Format(time.RFC3339Nano), at.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// clocksApart is how far an application's clock may be from the store's before a
// record counts as younger than its effect.
const clocksApart = 5 * time.Minute

// illegal is what is wrong with a record's state, "" if nothing is.
func illegal(rec *record.Record) string {
	final := rec.State.Final()
	switch {
	case rec.State < record.Accepted || rec.State > record.Rejected:
		return fmt.Sprintf("state %d", rec.State)
	case final && (rec.Final.IsZero() || rec.ReplayUntil.IsZero() || rec.RememberUntil.IsZero()):
		return "final without its times"
	case !final && !rec.RememberUntil.IsZero():
		return "unfinished, and its memory ends"
	case rec.State == record.Submitted && rec.Lease.IsZero():
		return "submitted without a lease"
	case rec.State == record.Submitted && rec.Attempt < 1:
		return "submitted without an attempt"
	case rec.Created.IsZero() || rec.Version < 1:
		return "never created"
	}
	return ""
}

// final checks the result and the deadlines of a final record.
func (c *checking) final(rec *record.Record) {
	if rec.ReplayUntil.Before(rec.Final) || rec.RememberUntil.Before(rec.ReplayUntil) {
		c.deadlines.fault("%s: final %s, replayed until %s, remembered until %s", rec.Ref,
			rec.Final.Format(time.RFC3339Nano), rec.ReplayUntil.Format(time.RFC3339Nano), rec.RememberUntil.Format(time.RFC3339Nano))
	}
	result := rec.Result
	switch trimmed := slices.Equal(result.Digest, record.Trimmed); {
	case trimmed && (len(result.Body) > 0 || len(result.Header) > 0):
		c.results.fault("%s: half of its result is kept", rec.Ref)
	case trimmed && c.now.Before(rec.ReplayUntil):
		c.results.fault("%s: its result is gone and its replay is not over", rec.Ref)
	case !trimmed && len(result.Digest) != 0 && len(result.Digest) != 32:
		c.results.fault("%s: a digest of %d bytes", rec.Ref, len(result.Digest))
	case result.Status != 0 && (result.Status < 100 || result.Status > 599):
		c.results.fault("%s: status %d", rec.Ref, result.Status)
	}
	if rec.Disputed || c.now.Before(rec.RememberUntil.Add(2*patience)) {
		return
	}
	i, found := slices.BinarySearchFunc(c.spans, rec.Ref, func(s Span, ref string) int {
		switch {
		case s.Last < ref:
			return -1
		case s.After >= ref:
			return 1
		}
		return 0
	})
	if found && c.spans[i].Due.After(c.now.Add(patience)) {
		c.reaper.fault("%s: its memory ended %s, the reaper comes %s", rec.Ref,
			rec.RememberUntil.Format(time.RFC3339Nano), c.spans[i].Due.Format(time.RFC3339Nano))
	}
}
