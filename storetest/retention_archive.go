package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// archiveGetsWhatIsForgotten, as it is stored and before it is gone, and nothing
// else.
func archiveGetsWhatIsForgotten[T any](f *fixture[T]) {
	kept, trimmed, young := f.call("kept", "one"), f.call(timed(epoch, 1), "one"), f.call("young", "one")
	kept.Contract.ReplayFor = kept.Contract.RememberFor
	young.Contract.RememberFor *= 2
	want := make(map[string]record.Record)
	for _, call := range []refrain.Call{kept, trimmed} {
		want[f.fresh(call).Ref] = record.Record{}
		f.forgets(call)
	}
	f.fresh(young)
	refused := f.call("refused", "one")
	out, err := f.execute(f.Harness, refused, f.rejects(refused))
	if err != nil {
		f.t.Fatalf("Execute: %v", err)
	}
	want[out.Ref] = record.Record{}
	f.forgets(refused)
	f.clock.set(epoch.Add(f.contract.ReplayFor))
	f.reap()
	for ref := range want {
		if want[ref], err = f.Store.Find(f.ctx, ref); err != nil {
			f.t.Fatalf("Find: %v", err)
		}
	}
	f.clock.set(epoch.Add(f.contract.RememberFor))
	got := make(map[string]record.Record)
	f.reap(upkeep.Reap{Archive: func(_ context.Context, forgotten []record.Record) error {
		for _, rec := range forgotten {
			if _, twice := got[rec.Ref]; twice {
				f.t.Errorf("%s is archived twice", rec.Ref)
			}
			got[rec.Ref] = rec
		}
		return nil
	}})
	if !reflect.DeepEqual(got, want) {
		f.t.Errorf("archived %+v, want %+v", got, want)
	}
	f.receipts(1)
}

var errDiskFull = errors.New("no space left on device")

// archiveFailed: nothing is forgotten, and the reaper says why.
func archiveFailed[T any](f *fixture[T]) {
	born := f.dueRecords(3)
	spans := f.tiles()
	done, err := f.retention().Reap(f.ctx, upkeep.Reap{Archive: func(context.Context, []record.Record) error { return errDiskFull }})
	if !errors.Is(err, errDiskFull) || done.Forgotten != 0 {
		f.t.Errorf("Reap = %+v, %v; want what the archive said", done, err)
	}
	f.reapingNothing(born, spans, 3)
	f.effects(3)
}

// walkInOrder: page by page, each record once and with its result.
func walkInOrder[T any](f *fixture[T]) {
	const n = 5
	want := make([]record.Record, n)
	for i := range want {
		call := f.call(strings.Repeat("k", i+1), "one")
		rec, err := f.Store.Find(f.ctx, f.fresh(call).Ref)
		if err != nil {
			f.t.Fatalf("Find: %v", err)
		}
		want[i] = rec
		f.clock.advance(time.Millisecond)
	}
	slices.SortFunc(want, func(a, b record.Record) int { return strings.Compare(a.Ref, b.Ref) })
	for _, limit := range []int{1, 2, n, n + 1, 0, 1 << 30} {
		var got []record.Record
		after, pages := "", 0
		for {
			page, err := f.retention().Walk(f.ctx, after, limit)
			if err != nil || len(page.Unreadable) != 0 || limit > 0 && len(page.Records) > limit {
				f.t.Fatalf("Walk(%q, %d) = %d records, %v, %v", after, limit, len(page.Records), page.Unreadable, err)
			}
			got = append(got, page.Records...)
			if pages++; page.Next == "" || pages > 2*n {
				break
			}
			if last := page.Records[len(page.Records)-1].Ref; page.Next != last {
				f.t.Errorf("after %s the next page begins at %s", last, page.Next)
			}
			after = page.Next
		}
		if !reflect.DeepEqual(got, want) {
			f.t.Errorf("by %d: %+v, want %+v", limit, got, want)
		}
	}
	page, err := f.retention().Walk(f.ctx, want[2].Ref, 10)
	if err != nil || !reflect.DeepEqual(page.Records, want[3:]) {
		f.t.Errorf("behind %s: %+v, %v", want[2].Ref, page.Records, err)
	}
}

// walkPassesTheUnreadable and names it.
func walkPassesTheUnreadable[T any](f *fixture[T]) {
	damaged := map[string]Damage{"garbled": Garbled, "foreign": Foreign, "newer": Newer}
	unreadable := make(map[string]bool)
	for _, key := range []string{"a", "garbled", "b", "foreign", "newer", "c"} {
		call := f.call(key, "one")
		out := f.fresh(call)
		if how, ok := damaged[key]; ok {
			f.damage(call, how)
			unreadable[out.Ref] = true
		}
		f.clock.advance(time.Millisecond)
	}
	for _, limit := range []int{1, 2, 10} {
		found, named := 0, 0
		for after, more := "", true; more; {
			page, err := f.retention().Walk(f.ctx, after, limit)
			if err != nil {
				f.t.Fatalf("Walk: %v", err)
			}
			found += len(page.Records)
			for ref, why := range page.Unreadable {
				if named++; !unreadable[ref] || !errors.Is(why, record.RecordUnreadable) {
					f.t.Errorf("%s cannot be read: %v", ref, why)
				}
			}
			after, more = page.Next, page.Next != ""
		}
		if found != 3 || named != len(unreadable) {
			f.t.Errorf("by %d: %d records and %d that cannot be read", limit, found, named)
		}
	}
}
