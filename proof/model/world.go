package model

import (
	"slices"
	"time"

	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/record"
)

// epoch is the clock's start; it moves by whole leases.
var epoch = time.Date(2026, time.March, 14, 9, 26, 53, 0, time.UTC)

const lease = 30 * time.Second

// answers are what an effect can turn out to be; two of them confirm different
// effects.
var answers = [...]record.Result{
	{Status: 201, Effect: "/orders/1"},
	{Status: 201, Effect: "/orders/2"},
	{Status: 409, Rejected: true},
}

// same reports whether two results are one answer.
func same(a, b record.Result) bool {
	return a.Rejected == b.Rejected && (a.Rejected || a.Effect == b.Effect)
}

// owner is one process's hold on an attempt.
type owner struct {
	copy   *record.Record // as it was given; nil without an attempt
	answer int            // 1 + index into answers, once it gave one
}

// world is one state of everything. Records are never changed in place.
type world struct {
	stored *record.Record
	now    time.Time
	owners [2]owner
	looked *record.Seen // what the reader looked up and has not acted on

	// What happened, for the invariants.
	given    [len(answers)]bool // answers that were accepted for the stored record
	opened   int                // attempts opened since the record's beginning
	lastStep fate
}

// fate is what a step did that an invariant must know.
type fate struct {
	name     string
	operator bool
	attempt  int  // the owner's, where an owner acts on its copy
	lost     bool // an owner's answer was refused
	reopened bool
}

// key is a world without what makes no difference: refs are numbered, times are
// leases since the start.
type key struct {
	stored, looked recordKey
	now            int64
	owners         [2]ownerKey
	given          [len(answers)]bool
	opened         int
}

type ownerKey struct {
	copy   recordKey
	answer int
}

type recordKey struct {
	present, current, disputed bool
	state                      record.State
	attempt                    int
	lease, fence               int64
	result                     int
	evidence                   [len(answers)]bool
}

func (w *world) key() key {
	k := key{stored: w.recordKey(w.stored), now: ticks(w.now), given: w.given, opened: w.opened}
	if w.looked != nil {
		k.looked = w.recordKey(w.looked.Record)
	}
	for i, o := range w.owners {
		k.owners[i] = ownerKey{w.recordKey(o.copy), o.answer}
	}
	return k
}

func (w *world) recordKey(r *record.Record) recordKey {
	if r == nil {
		return recordKey{}
	}
	k := recordKey{
		present: true, current: w.stored != nil && r.Ref == w.stored.Ref, disputed: r.Disputed,
		state: r.State, attempt: r.Attempt, lease: ticks(r.Lease), fence: r.Fence - epoch.UnixMicro(),
	}
	if r.State.Final() {
		k.result = 1 + slices.IndexFunc(answers[:], func(a record.Result) bool { return same(a, r.Result) })
	}
	for i, a := range answers {
		k.evidence[i] = slices.ContainsFunc(r.Evidence, func(e record.Result) bool { return same(a, e) })
	}
	return k
}

func ticks(t time.Time) int64 { return int64(t.Sub(epoch) / lease) }

// holds reports whether the record has an answer, as its result or as evidence.
func holds(r *record.Record, answer record.Result) bool {
	return r != nil && (r.State.Final() && same(r.Result, answer) ||
		slices.ContainsFunc(r.Evidence, func(e record.Result) bool { return same(e, answer) }))
}

// claim is every owner's: one request, one contract.
func claim(rerun bool) *record.Claim {
	id := record.Identity{Scope: "tenant=north", Operation: "orders.create", Key: "k"}
	print, err := fingerprint.Bytes(fingerprint.RuleRaw, "1", []byte("order"))
	if err != nil {
		panic(err)
	}
	return &record.Claim{
		Identity: id, Hash: id.Hash(),
		Policy: record.Policy{
			ReplayFor: 1000 * time.Hour, RememberFor: 1000 * time.Hour, Skew: time.Minute,
			MaxResult: 1 << 20, Lease: lease, Rerun: rerun,
		},
		Request: record.Request{Key: id.Key, Print: print},
	}
}
