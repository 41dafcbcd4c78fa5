package storetest

import (
	"errors"
	"reflect"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

func restored(until time.Time) upkeep.Fence {
	return upkeep.Fence{Until: until, By: "ops", Reason: "last night's backup: ' é 日本"}
}

func (f *fixture[T]) setFence(fence upkeep.Fence) int64 {
	f.t.Helper()
	id, err := f.retention().SetFence(f.ctx, fence)
	if err != nil || id == 0 {
		f.t.Fatalf("SetFence = %d, %v", id, err)
	}
	return id
}

func (f *fixture[T]) fences(want ...upkeep.Fence) {
	f.t.Helper()
	got, err := f.retentionOf(f.connect()).Fences(f.ctx)
	if err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
		f.t.Errorf("Fences = %+v, %v; want %+v", got, err, want)
	}
}

// fenceIsKept as it was set, at the store's time.
func fenceIsKept[T any](f *fixture[T]) {
	f.fences()
	all := restored(epoch)
	one := upkeep.Fence{
		Operation: "orders.create", Scope: refrain.Tenant("north").String(), Until: epoch.Add(-time.Microsecond), Since: epoch.Add(-time.Hour),
		By: "witness", Reason: "older", At: epoch.Add(time.Hour), Ended: epoch.Add(time.Hour), // not the caller's to say
	}
	all.ID = f.setFence(all)
	f.clock.advance(time.Second)
	one.ID = f.setFence(one)
	all.At, one.At, one.Ended = epoch, epoch.Add(time.Second), time.Time{}
	if one.ID <= all.ID {
		f.t.Errorf("ids %d and %d", all.ID, one.ID)
	}
	f.fences(all, one)
	f.clock.advance(time.Second)
	if err := f.retention().EndFence(f.ctx, all.ID, "ops", "reviewed"); err != nil {
		f.t.Errorf("EndFence: %v", err)
	}
	all.Ended = f.clock.Now()
	f.fences(all, one)
	if err := f.retention().VoidFence(f.ctx, one.ID, "ops", "a mistake"); err != nil {
		f.t.Errorf("VoidFence: %v", err)
	}
	f.fences(all)
	if again := f.setFence(one); again <= one.ID {
		f.t.Errorf("a new fence has the id %d, and %d was voided", again, one.ID)
	}
}

// fenceIsRefused when it would hold back what is new, or tells nobody's name.
func fenceIsRefused[T any](f *fixture[T]) {
	for name, fence := range map[string]upkeep.Fence{
		"no until":        {By: "ops", Reason: "restore"},
		"a time to come":  restored(epoch.Add(time.Microsecond)),
		"beyond early":    {Until: epoch.Add(2*time.Second + time.Microsecond), Early: 2 * time.Second, By: "w", Reason: "r"},
		"no name":         {Until: epoch, Reason: "restore"},
		"no reason":       {Until: epoch, By: "ops"},
		"since and until": {Until: epoch, Since: epoch.Add(time.Second), By: "ops", Reason: "restore"},
	} {
		if id, err := f.retention().SetFence(f.ctx, fence); !errors.Is(err, upkeep.ErrFence) {
			f.t.Errorf("%s: SetFence = %d, %v; want ErrFence", name, id, err)
		}
	}
	f.fences()
	f.setFence(upkeep.Fence{Until: epoch.Add(2 * time.Second), Early: 2 * time.Second, By: "witness", Reason: "behind"})
	for _, id := range []int64{0, -1, 1 << 40} {
		if err := f.retention().EndFence(f.ctx, id, "ops", "over"); !errors.Is(err, record.ErrNotFound) {
			f.t.Errorf("EndFence(%d): %v, want ErrNotFound", id, err)
		}
		if err := f.retention().VoidFence(f.ctx, id, "ops", "mistake"); !errors.Is(err, record.ErrNotFound) {
			f.t.Errorf("VoidFence(%d): %v, want ErrNotFound", id, err)
		}
	}
}

// fenceEnds: keys without a time run again, those with one stay refused, and what
// nobody could tell while it stood is too late.
func fenceEnds[T any](f *fixture[T]) {
	skew := f.policy().Skew
	lost := f.call(timed(epoch, 1), "one")
	unclear := f.call(timed(epoch.Add(skew), 2), "one")
	plain := f.call("plain", "one")
	young := f.call(timed(epoch.Add(skew+time.Millisecond), 3), "one")
	id := f.setFence(restored(epoch))
	f.clock.advance(2 * skew)

	f.refused(lost, "2", record.TooLate)
	f.refused(plain, "2", record.TooLate)
	for _, call := range []refrain.Call{unclear, f.call(timed(epoch.Add(time.Millisecond), 4), "one")} {
		refusal := f.refused(call, "2c", record.Recovering)
		if !refusal.Retryable() || refusal.RetryAfter <= 0 || refusal.Problem.Status() != 503 {
			f.t.Errorf("row 2c tells %+v", refusal)
		}
	}
	f.fresh(young)
	reviewed := func(want int) {
		f.t.Helper()
		reviews, err := f.retention().Reviews(f.ctx, upkeep.ReviewQuery{})
		if err != nil || len(reviews) != want {
			f.t.Errorf("%d under review, %v; want %d", len(reviews), err, want)
		}
	}
	reviewed(2) // nobody can say of the others that they are late

	if err := f.retention().EndFence(f.ctx, id, "ops", "reviewed"); err != nil {
		f.t.Fatalf("EndFence: %v", err)
	}
	f.fresh(plain)
	f.refused(lost, "2", record.TooLate)
	f.refused(unclear, "2", record.TooLate)
	reviewed(3)
	if err := f.retention().EndFence(f.ctx, id, "ops", "again"); !errors.Is(err, record.ErrNotFound) {
		f.t.Errorf("EndFence again: %v, want ErrNotFound", err)
	}
	f.effects(2)
}

// fenceVoid: it never stood, also after its end.
func fenceVoid[T any](f *fixture[T]) {
	for _, ended := range []bool{false, true} {
		id := f.setFence(restored(f.clock.Now()))
		lost, plain := f.call(timed(f.clock.Now(), 1), "one"), f.call("plain"+f.clock.Now().String(), "one")
		f.clock.advance(time.Second)
		f.refused(lost, "2", record.TooLate)
		f.refused(plain, "2", record.TooLate)
		if ended {
			if err := f.retention().EndFence(f.ctx, id, "ops", "over"); err != nil {
				f.t.Errorf("EndFence: %v", err)
			}
		}
		if err := f.retention().VoidFence(f.ctx, id, "ops", "a mistake"); err != nil {
			f.t.Errorf("VoidFence: %v", err)
		}
		if err := f.retention().VoidFence(f.ctx, id, "ops", "again"); !errors.Is(err, record.ErrNotFound) {
			f.t.Errorf("VoidFence again: %v, want ErrNotFound", err)
		}
		f.fresh(lost)
		f.fresh(plain)
	}
	f.fences()
	f.effects(4)
}

// fenceAudits: each act leaves a line of no record, and what is refused none.
func fenceAudits[T any](f *fixture[T]) {
	id := f.setFence(restored(epoch))
	_, _ = f.retention().SetFence(f.ctx, restored(epoch.Add(time.Hour)))
	f.clock.advance(time.Second)
	_ = f.retention().EndFence(f.ctx, id+1, "eve", "there is none")
	for _, err := range []error{f.retention().EndFence(f.ctx, id, "ada", "reviewed"), f.retention().VoidFence(f.ctx, id, "ops", "a mistake")} {
		if err != nil {
			f.t.Errorf("%v", err)
		}
	}
	lines, err := f.Audits(f.ctx)
	if err != nil || len(lines) != 3 {
		f.t.Fatalf("Audits = %+v, %v; want three", lines, err)
	}
	for i, want := range []Audit{
		{At: epoch, By: "ops", Action: "fence", Reason: restored(epoch).Reason},
		{At: epoch.Add(time.Second), By: "ada", Action: "fence-end", Reason: "reviewed"},
		{At: epoch.Add(time.Second), By: "ops", Action: "fence-void", Reason: "a mistake"},
	} {
		got := lines[i]
		if !got.At.Equal(want.At) || got.Detail == "" {
			f.t.Errorf("line %d is %+v", i, got)
		}
		if got.At, got.Detail = want.At, ""; got != want {
			f.t.Errorf("line %d is %+v, want %+v", i, got, want)
		}
	}
}

// fenceKnowsNoSince: a key that was born before the backup may have come first
// after it.
func fenceKnowsNoSince[T any](f *fixture[T]) {
	fence := restored(epoch)
	fence.Since = epoch.Add(-time.Hour)
	f.setFence(fence)
	f.clock.advance(time.Second)
	f.refused(f.call(timed(epoch.Add(-2*time.Hour), 1), "one"), "2", record.TooLate)
	f.refused(f.call(timed(epoch.Add(-time.Minute), 2), "one"), "2", record.TooLate)
	f.effects(0)
}

// fenceCaused: what a mistake has held up can be told from what it has not.
func fenceCaused[T any](f *fixture[T]) {
	f.setFence(restored(epoch))
	f.clock.advance(time.Second)
	f.refused(f.call("before", "one"), "2", record.TooLate)
	f.clock.advance(time.Second)
	mistake := restored(epoch)
	mistake.Operation = f.contract.Operation
	f.setFence(mistake)
	f.refused(f.call("after", "one"), "2", record.TooLate)
	elsewhere := f.call("elsewhere", "one")
	elsewhere.Contract.Operation = "orders.batch"
	f.refused(elsewhere, "2", record.TooLate)

	fences, err := f.retention().Fences(f.ctx)
	if err != nil || len(fences) != 2 {
		f.t.Fatalf("Fences = %+v, %v", fences, err)
	}
	reviews, err := f.retention().Reviews(f.ctx, upkeep.ReviewQuery{})
	if err != nil || len(reviews) != 3 {
		f.t.Fatalf("Reviews = %+v, %v", reviews, err)
	}
	for _, r := range reviews {
		if got, want := fences[1].Caused(r), r.Identity.Key == "after"; got != want {
			f.t.Errorf("%q was caused by the second fence: %t", r.Identity.Key, got)
		}
		if !fences[0].Caused(r) {
			f.t.Errorf("%q was not caused by the first fence", r.Identity.Key)
		}
	}
}
