package storetest

import (
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// change writes one edit through a connection and demands that it is written.
func (f *fixture[T]) change(through *Harness[T], call refrain.Call, decide func(record.Seen, time.Time) record.Edit) {
	f.t.Helper()
	err := through.Store.Change(f.ctx, identity(call), func(seen record.Seen, now time.Time) (record.Edit, error) {
		edit := decide(seen, now)
		if edit.Put != nil {
			f.mu.Lock()
			f.placed[edit.Put.Ref] = true
			f.mu.Unlock()
		}
		return edit, nil
	})
	if err != nil {
		f.t.Fatalf("Change: %v", err)
	}
}

// put writes a record in place of what is there.
func (f *fixture[T]) put(call refrain.Call, rec record.Record) {
	f.t.Helper()
	f.change(f.Harness, call, func(record.Seen, time.Time) record.Edit { return record.Edit{Put: &rec} })
}

// load returns what is known of the call's identity.
func (f *fixture[T]) load(through *Harness[T], call refrain.Call) record.Seen {
	f.t.Helper()
	seen, _, err := through.Store.Load(f.ctx, identity(call))
	if err != nil {
		f.t.Fatalf("Load: %v", err)
	}
	return seen
}

// loaded returns the stored record of the call and demands that there is one.
func (f *fixture[T]) loaded(through *Harness[T], call refrain.Call) record.Record {
	f.t.Helper()
	seen := f.load(through, call)
	if seen.Record == nil {
		f.t.Fatalf("no record of key %q", call.Key)
	}
	return *seen.Record
}

func (f *fixture[T]) claimOf(call refrain.Call) *record.Claim {
	f.t.Helper()
	claim, err := call.Claim()
	if err != nil {
		f.t.Fatal(err)
	}
	return claim
}

// changeWritesOneEdit: decide is shown what is stored at the store's time, and
// what it asks for is stored when Change returns, for every connection.
func changeWritesOneEdit[T any](f *fixture[T]) {
	call := f.call("k", "one")
	first := f.claimOf(call).Begin(epoch)
	other := f.connect()
	f.change(f.Harness, call, func(seen record.Seen, now time.Time) record.Edit {
		if seen.Record != nil || !now.Equal(epoch) {
			f.t.Errorf("in an empty store at %v: %+v at %v", epoch, seen, now)
		}
		return record.Edit{Put: first}
	})
	written := f.loaded(other, call)
	if written.Ref != first.Ref || written.State != record.Submitted || written.Format != record.Format {
		f.t.Errorf("written %+v", written)
	}

	f.clock.advance(time.Second)
	f.change(other, call, func(seen record.Seen, now time.Time) record.Edit {
		if !reflect.DeepEqual(*seen.Record, written) || !now.Equal(epoch.Add(time.Second)) {
			f.t.Errorf("shown %+v at %v, stored %+v", seen.Record, now, written)
		}
		return record.Edit{}
	})
	if again := f.loaded(f.Harness, call); !reflect.DeepEqual(again, written) {
		f.t.Errorf("the zero edit wrote %+v", again)
	}

	f.change(f.Harness, call, func(record.Seen, time.Time) record.Edit { return record.Edit{Remove: true} })
	if seen := f.load(other, call); seen.Record != nil {
		f.t.Errorf("removed, and still there: %+v", seen.Record)
	}
	if _, err := other.Store.Find(f.ctx, first.Ref); !errors.Is(err, record.ErrNotFound) {
		f.t.Errorf("Find of a removed record: %v", err)
	}
	f.change(f.Harness, call, func(record.Seen, time.Time) record.Edit { return record.Edit{Remove: true} })
	f.receipts(0)
	f.fresh(call)
	f.effects(1)
}

// changeErrorWritesNothing: an error of decide is returned, and nothing it would
// have written is.
func changeErrorWritesNothing[T any](f *fixture[T]) {
	for _, key := range []string{"absent", "present"} {
		call := f.call(key, "one")
		claim := f.claimOf(call)
		if key == "present" {
			f.put(call, *claim.Begin(epoch))
		}
		before := f.load(f.Harness, call)
		err := f.Store.Change(f.ctx, identity(call), func(record.Seen, time.Time) (record.Edit, error) {
			return record.Edit{
				Put: claim.Begin(epoch), Register: claim, GrantAllow: "no",
				By: "nobody", Action: "nothing", Reason: "none", Detail: "none",
			}, errInjected
		})
		if !errors.Is(err, errInjected) {
			f.t.Errorf("%s: Change: %v, want the error of decide", key, err)
		}
		if after := f.load(f.Harness, call); !reflect.DeepEqual(after, before) {
			f.t.Errorf("%s: after an error %+v, before %+v", key, after, before)
		}
	}
	f.audited()
}

// changeIsExclusive: nobody else's change comes between what decide saw and what
// it writes.
func changeIsExclusive[T any](f *fixture[T]) {
	call := f.call("k", "one")
	f.put(call, *f.claimOf(call).Begin(epoch))
	through := [2]*Harness[T]{f.Harness, f.connect()}
	const owners, each = 16, 8
	var done sync.WaitGroup
	for i := range owners {
		done.Go(func() {
			for range each {
				err := through[i%2].Store.Change(f.ctx, identity(call), func(seen record.Seen, _ time.Time) (record.Edit, error) {
					next := *seen.Record
					next.Attempt++
					return record.Edit{Put: &next}, nil
				})
				if err != nil {
					f.t.Errorf("Change: %v", err)
				}
			}
		})
	}
	done.Wait()
	if rec := f.loaded(f.Harness, call); rec.Attempt != 1+owners*each || rec.Version != 1+owners*each {
		f.t.Errorf("%d attempts in version %d after %d changes of a record with one", rec.Attempt, rec.Version, owners*each)
	}
}

// changeVersions: a record that goes on has the next version, a new one begins
// at 1; so (ref, version) is never reused.
func changeVersions[T any](f *fixture[T]) {
	call := f.call("k", "one")
	claim := f.claimOf(call)
	old := *claim.Begin(epoch)
	for want := int64(1); want <= 3; want++ {
		next := old
		next.Version = 40
		f.put(call, next)
		if got := f.loaded(f.Harness, call).Version; got != want {
			f.t.Errorf("version %d, want %d", got, want)
		}
	}
	successor := *claim.Begin(epoch)
	successor.Version = 3
	f.put(call, successor)
	if got := f.loaded(f.Harness, call); got.Version != 1 || got.Ref != successor.Ref {
		f.t.Errorf("in place of another record: version %d of %s, want 1 of %s", got.Version, got.Ref, successor.Ref)
	}
	if _, err := f.Store.Find(f.ctx, old.Ref); !errors.Is(err, record.ErrNotFound) {
		f.t.Errorf("Find of the record that was replaced: %v", err)
	}
	f.receipts(1)
}

// changeRegistersTheOperation, as the first execution would: its identities are
// checked from then on, and the horizon reads keys as its contract does.
func changeRegistersTheOperation[T any](f *fixture[T]) {
	f.contract.KeyTime = record.ULID
	call := f.call(ulid(epoch.Add(-time.Minute)), "one")
	own := f.claim(f.Harness, call)
	if seen := f.load(f.connect(), call); seen.IdentityVersion != f.contract.IdentityVersion() {
		f.t.Errorf("the store knows identity version %q, want %q", seen.IdentityVersion, f.contract.IdentityVersion())
	}
	changed := f.call("other", "one")
	changed.Contract.Dimensions = []string{"tenant", "subject"}
	changed.Scope = refrain.Tenant("north").Subject("alice")
	other := f.claimOf(changed)
	err := f.Store.Change(f.ctx, other.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
		edit, _, _, refusal := other.Open(seen, now)
		return edit, refusal
	})
	if !errors.Is(err, record.ContractChanged) {
		f.t.Errorf("Open with other dimensions: %v", err)
	}

	settled := f.complete(f.Harness, own, record.Result{Status: 201})
	f.clock.set(settled.RememberUntil)
	f.forget(10, 1)
	f.forgets(call)
	f.refused(f.call(ulid(epoch.Add(-2*time.Minute)), "one"), "2", record.TooLate)
}

// changeSpendsAndGrantsAllows in the transaction of what they are for.
func changeSpendsAndGrantsAllows[T any](f *fixture[T]) {
	call := f.call(timed(epoch.Add(-time.Minute), 1), "one")
	other := f.call(timed(epoch.Add(-time.Minute), 2), "one")
	f.fence(Fence{Until: epoch})
	f.clock.advance(time.Second)
	f.allow(call)
	own := f.claim(f.Harness, call)
	if f.load(f.connect(), call).Allowed {
		f.t.Error("the allow is not spent by the claim it permitted")
	}
	for range 2 { // one that is there already is no fault
		f.change(f.Harness, call, func(record.Seen, time.Time) record.Edit {
			return record.Edit{Remove: true, GrantAllow: "released"}
		})
	}
	if seen := f.load(f.connect(), call); !seen.Allowed || seen.Record != nil {
		f.t.Errorf("after the release of %s: %+v", own.Ref, seen)
	}
	f.refused(other, "2", record.TooLate)
	f.fresh(call)
	if f.load(f.Harness, call).Allowed {
		f.t.Error("the granted allow is not spent by the execution")
	}
	f.effects(1)
}

// changeAudits what an operator did, with the change; machines leave no line.
func changeAudits[T any](f *fixture[T]) {
	call := f.call("k", "one")
	own := f.claim(f.Harness, call)
	f.clock.set(own.Lease)
	f.change(f.Harness, call, record.Expire)
	f.audited()
	f.change(f.connect(), call, func(seen record.Seen, now time.Time) record.Edit {
		edit, err := record.Resolve(seen, now, record.Result{Status: 201, Effect: "/orders/1"}, f.policy(), "ada", "seen at the provider")
		if err != nil {
			f.t.Errorf("Resolve: %v", err)
		}
		return edit
	})
	f.audited(Audit{At: own.Lease, By: "ada", Action: "resolve", Ref: own.Ref, Reason: "seen at the provider", Detail: "unknown to confirmed"})
	if out, err := f.do(call); err != nil || !out.Replayed || out.Effect != "/orders/1" {
		f.t.Errorf("after the resolution: %+v, %s", out, describe(err))
	}
	f.effects(0)
}

// audited demands these lines of audit and no others, where they can be read.
func (f *fixture[T]) audited(want ...Audit) {
	f.t.Helper()
	if f.Audits == nil {
		return
	}
	got, err := f.Audits(f.ctx)
	if err != nil {
		f.t.Fatalf("Audits: %v", err)
	}
	if len(got) != len(want) {
		f.t.Fatalf("%d lines of audit %+v, want %d", len(got), got, len(want))
	}
	for i, line := range got {
		if !line.At.Equal(want[i].At) {
			f.t.Errorf("line %d was written at %v, want %v", i, line.At, want[i].At)
		}
		line.At = want[i].At
		if line != want[i] {
			f.t.Errorf("line %d is %+v, want %+v", i, line, want[i])
		}
	}
}
