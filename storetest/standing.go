package storetest

import (
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

func (f *fixture[T]) fence(fence Fence) {
	f.t.Helper()
	if err := f.Fence(f.ctx, fence); err != nil {
		f.t.Fatalf("Fence: %v", err)
	}
}

func (f *fixture[T]) allow(call refrain.Call) {
	f.t.Helper()
	if err := f.Allow(f.ctx, identity(call)); err != nil {
		f.t.Fatalf("Allow: %v", err)
	}
}

// fenceTimed: keys born until the fence and not found are late retries, also
// after it was ended; of those born within the skew behind it nobody can tell
// while it stands. What is found is answered as ever.
func fenceTimed[T any](f *fixture[T]) {
	known := f.call(timed(epoch.Add(-time.Hour), 1), "one")
	original := f.fresh(known)
	edge := epoch.Add(f.policy().Skew)
	f.fence(Fence{Until: epoch})
	f.clock.set(edge)
	f.replay(known, original)
	f.refused(f.call(timed(epoch, 2), "one"), "2", record.TooLate)
	f.refused(f.call(timed(edge, 2), "one"), "2c", record.Recovering)
	f.fresh(f.call(timed(edge.Add(time.Millisecond), 3), "one"))
	f.effects(2)
}

func fenceUntimed[T any](f *fixture[T]) {
	known := f.call("known", "one")
	original := f.fresh(known)
	f.fence(Fence{Until: epoch})
	f.clock.advance(time.Second)
	f.replay(known, original)
	late := f.refused(f.call("unheard", "one"), "2", record.TooLate)
	if !late.Born.IsZero() {
		f.t.Errorf("an untimed key was born %v", late.Born)
	}
	trusting := f.call("unheard", "one")
	trusting.Contract.RunUntimed = true
	f.fresh(trusting)
	f.effects(2)
}

func fenceCovers[T any](f *fixture[T]) {
	north, south := refrain.Tenant("north"), refrain.Tenant("south")
	f.fence(Fence{Operation: "fenced.here", Scope: north.String(), Until: epoch})
	f.fence(Fence{Operation: "fenced.all", Until: epoch})
	f.fence(Fence{Operation: "fenced.ended", Until: epoch, Ended: true})
	f.fence(Fence{Scope: refrain.Tenant("gone").String(), Until: epoch})
	f.clock.advance(time.Second)
	old := epoch.Add(-time.Minute)
	for i, tt := range []struct {
		operation string
		scope     refrain.Scope
		key       string
		refused   bool
	}{
		{"fenced.here", north, "untimed", true},
		{"fenced.here", north, timed(old, 1), true},
		{"fenced.here", south, "untimed", false},
		{"fenced.here", south, timed(old, 1), false},
		{"fenced.all", south, "untimed", true},
		{"fenced.all", north, timed(old, 1), true},
		{"fenced.ended", north, "untimed", false},
		{"fenced.ended", north, timed(old, 1), true},
		{"free", north, "untimed", false},
		{"free", north, timed(old, 1), false},
		{"free", refrain.Tenant("gone"), "untimed", true},
	} {
		call := f.call(tt.key, "one")
		call.Contract.Operation, call.Scope = tt.operation, tt.scope
		_, err := f.do(call)
		if tt.refused && !errors.Is(err, record.TooLate) || !tt.refused && err != nil {
			f.t.Errorf("%d: %s in %s, key %s: %s; want refused = %t", i, tt.operation, tt.scope, tt.key, describe(err), tt.refused)
		}
	}
	f.effects(5)
}

// allowIsSpentOnce: an allow lets one execution through, not a second one.
func allowIsSpentOnce[T any](f *fixture[T]) {
	call := f.call(timed(epoch.Add(-time.Minute), 1), "one")
	other := f.call(timed(epoch.Add(-time.Minute), 2), "one")
	f.fence(Fence{Until: epoch})
	f.clock.advance(time.Second)
	f.refused(call, "2", record.TooLate)
	f.allow(call)
	f.refused(other, "2", record.TooLate)
	original := f.fresh(call)
	f.replay(call, original)
	seen, _, err := f.Store.Load(f.ctx, identity(call))
	if err != nil || seen.Allowed {
		f.t.Errorf("after it was used: Load = %+v, %v; want no allow", seen, err)
	}
	f.clock.set(original.RememberUntil)
	f.refused(call, "2", record.TooLate)
	f.effects(1)
}

func allowSurvivesRollback[T any](f *fixture[T]) {
	call := f.call(timed(epoch.Add(-time.Minute), 1), "one")
	f.fence(Fence{Until: epoch})
	f.allow(call)
	if _, err := f.execute(f.Harness, call, f.failsAfterWriting(call)); !errors.Is(err, errInjected) {
		f.t.Fatalf("Execute: %s", describe(err))
	}
	f.effects(0)
	f.fresh(call)
	f.effects(1)
}

// reviewsCountPerIdentity: a refused late retry is kept once, however often it
// comes, and nothing else is.
func reviewsCountPerIdentity[T any](f *fixture[T]) {
	late, never := f.call("late", "one"), f.call("conflict", "one")
	f.fresh(never)
	f.fence(Fence{Until: epoch})
	for range 3 {
		f.refused(late, "2", record.TooLate)
	}
	f.refused(f.call("conflict", "two"), "4", record.KeyReused)
	f.refused(f.call(timed(epoch.Add(-time.Minute), 1), "one"), "2", record.TooLate)
	reviews, err := f.Reviews(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	if len(reviews) != 2 || reviews[identity(late)] != 3 {
		f.t.Errorf("reviews are %v, want three refusals of one identity and one of another", reviews)
	}
	f.effects(1)
}
