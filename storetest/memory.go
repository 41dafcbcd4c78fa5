package storetest

import (
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// replayEndsAtItsDeadline: at the deadline itself it is past.
func replayEndsAtItsDeadline[T any](f *fixture[T]) {
	call := f.call("k", "one")
	original := f.fresh(call)
	if !original.ReplayUntil.Equal(epoch.Add(time.Hour)) || !original.RememberUntil.Equal(epoch.Add(24*time.Hour)) {
		f.t.Errorf("deadlines are %v and %v", original.ReplayUntil, original.RememberUntil)
	}
	f.clock.set(original.ReplayUntil.Add(-time.Microsecond))
	f.replay(call, original)
	for _, at := range []time.Time{original.ReplayUntil, original.RememberUntil.Add(-time.Microsecond)} {
		f.clock.set(at)
		done := f.refused(call, "5", record.ResultGone)
		if done.Ref != original.Ref || done.State != record.Confirmed || done.Effect != original.Effect || done.Retryable() {
			f.t.Errorf("done tells %+v, want ref, state and effect reference", done)
		}
	}
	f.effects(1)
}

// untimedKeyRunsAgainPastMemory: the declared boundary. The new action takes the
// row over, with a ref of its own.
func untimedKeyRunsAgainPastMemory[T any](f *fixture[T]) {
	call := f.call("k", "one")
	original := f.fresh(call)
	f.clock.set(original.RememberUntil)
	f.forgets(call)
	other := f.call("k", "another request") // nothing is remembered it could conflict with
	again := f.fresh(other)
	if again.Ref == original.Ref {
		f.t.Error("the new action has the old ref")
	}
	if _, err := f.Store.Find(f.ctx, original.Ref); !errors.Is(err, record.ErrNotFound) {
		f.t.Errorf("Find(the old ref): %v, want ErrNotFound", err)
	}
	f.replay(other, again)
	f.effects(2)
	f.receipts(1)
}

func timedKeyIsRefusedPastMemory[T any](f *fixture[T]) {
	born := epoch.Add(-time.Minute)
	call := f.call(timed(born, 1), "one")
	original := f.fresh(call)
	f.clock.set(original.RememberUntil.Add(-time.Microsecond))
	f.refused(call, "5", record.ResultGone)
	f.clock.set(original.RememberUntil)
	late := f.refused(call, "2", record.TooLate)
	if !late.Born.Equal(born) || !late.Now.Equal(f.clock.Now()) || late.Record != nil || late.Ref != "" {
		f.t.Errorf("too late tells %+v, want the key's time and the store's, no record", late)
	}
	f.effects(1)
}

// deadlinesAreStored: what was promised when the action became final stands,
// whatever later contracts say.
func deadlinesAreStored[T any](f *fixture[T]) {
	original := f.fresh(f.call("k", "one"))
	shorter, longer := f.contract, f.contract
	shorter.ReplayFor, shorter.RememberFor = time.Second, 2*time.Second
	longer.ReplayFor, longer.RememberFor = 1000*time.Hour, 2000*time.Hour
	under := func(c refrain.Contract) refrain.Call {
		call := f.call("k", "one")
		call.Contract = c
		return call
	}
	f.clock.set(original.ReplayUntil.Add(-time.Microsecond))
	f.replay(under(shorter), original)
	f.clock.set(original.ReplayUntil)
	f.refused(under(longer), "5", record.ResultGone)
	f.clock.set(original.RememberUntil.Add(-time.Microsecond))
	f.refused(under(shorter), "5", record.ResultGone)
	f.clock.set(original.RememberUntil)
	f.forgets(under(longer))
	f.fresh(under(longer))
}

// zonesDoNotMatter: the zone of the clock that a process happens to use, also
// one whose day has 23 hours, moves no deadline.
func zonesDoNotMatter[T any](f *fixture[T]) {
	zones := []*time.Location{
		time.UTC,
		time.FixedZone("Kathmandu", 5*3600+45*60),
		time.FixedZone("Marquesas", -(9*3600 + 30*60)),
		time.FixedZone("local mean time", 3600+17*60+30),
	}
	if berlin, err := time.LoadLocation("Europe/Berlin"); err == nil {
		zones = append(zones, berlin)
	}
	other := f.connect()
	for i, write := range zones {
		read := zones[(i+1)%len(zones)]
		f.clock.set(epoch.Add(123456789 * time.Nanosecond).In(write))
		final := record.Micro(f.clock.Now())
		call := f.call("zone "+write.String(), "one")
		original := f.fresh(call)
		if !original.ReplayUntil.Equal(final.Add(time.Hour)) || !original.CreatedAt.Equal(final) {
			f.t.Errorf("in %v: created %v, replay until %v", write, original.CreatedAt, original.ReplayUntil)
		}
		f.clock.set(original.ReplayUntil.Add(-time.Microsecond).In(read))
		out, err := f.execute(other, call, f.effect(call))
		if err != nil {
			f.t.Fatalf("written in %v, read in %v a microsecond before the deadline: %v", write, read, err)
		}
		f.sameReplay(out, original)
		f.clock.set(original.ReplayUntil.In(read))
		f.refused(call, "5", record.ResultGone)
		rec, err := f.Store.Find(f.ctx, original.Ref)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, at := range []time.Time{rec.Created, rec.Final, rec.ReplayUntil, rec.RememberUntil} {
			if at.Location() != time.UTC || at.Nanosecond()%1000 != 0 {
				f.t.Errorf("a stored time is %v, want UTC microseconds", at)
			}
		}
	}
}
