package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

func findByRef[T any](f *fixture[T]) {
	call := f.call("k", "one")
	out := f.fresh(call)
	for _, h := range []*Harness[T]{f.Harness, f.connect()} {
		rec, err := h.Store.Find(f.ctx, out.Ref)
		if err != nil || rec.Ref != out.Ref || rec.Identity != identity(call) || string(rec.Result.Body) != string(out.Body) || rec.State != record.Confirmed {
			f.t.Errorf("Find = %+v, %v", rec, err)
		}
		for _, ref := range []string{"", "op_", record.NewRef(epoch), out.Ref + "x", out.Ref[:len(out.Ref)-1], "' OR 1=1 --", "\x00"} {
			if rec, err := h.Store.Find(f.ctx, ref); !errors.Is(err, record.ErrNotFound) {
				f.t.Errorf("Find(%q) = %+v, %v; want ErrNotFound", ref, rec, err)
			}
		}
	}
	seen, now, err := f.Store.Load(f.ctx, record.Identity{Scope: "tenant=nobody", Operation: "none", Key: "k"})
	if err != nil || seen.Record != nil || seen.Held || seen.Allowed || !seen.Horizon.IsZero() || !now.Equal(f.clock.Now()) {
		f.t.Errorf("Load of nothing = %+v, %v, %v", seen, now, err)
	}
}

// listFilters: newest first, without bodies, by the parts that are given.
func listFilters[T any](f *fixture[T]) {
	var refs []string
	for i := range 5 {
		f.clock.advance(time.Second)
		call := f.call(fmt.Sprint("k", i), "one")
		if i%2 == 1 {
			call.Scope = refrain.Tenant("south")
		}
		if i == 4 {
			call.Contract.Operation = "orders.batch"
		}
		refs = append(refs, f.fresh(call).Ref)
	}
	f.clock.advance(time.Second)
	waiting := f.place(f.call("unknown", "one"), func(r *record.Record) { r.State = record.Unknown })
	refs = append(refs, waiting.Ref)
	at := func(scope, operation string, state record.State) record.Record {
		return record.Record{Identity: record.Identity{Scope: scope, Operation: operation}, State: state}
	}
	north, south := refrain.Tenant("north").String(), refrain.Tenant("south").String()
	for _, tt := range []struct {
		like  record.Record
		limit int
		want  []int
	}{
		{at("", "", 0), 0, []int{5, 4, 3, 2, 1, 0}},
		{at("", "", 0), 2, []int{5, 4}},
		{at("", "", 0), 1_000_000, []int{5, 4, 3, 2, 1, 0}},
		{at(south, "", 0), 0, []int{3, 1}},
		{at("", "orders.batch", 0), 0, []int{4}},
		{at(north, "orders.create", record.Confirmed), 0, []int{2, 0}},
		{at("", "", record.Unknown), 0, []int{5}},
		{at("tenant=nobody", "", 0), 0, nil},
	} {
		found, err := f.Store.List(f.ctx, tt.like, tt.limit)
		if err != nil {
			f.t.Fatal(err)
		}
		var got []int
		for _, rec := range found {
			for i, ref := range refs {
				if rec.Ref == ref {
					got = append(got, i)
				}
			}
			if len(rec.Result.Body) > 0 {
				f.t.Errorf("List gives bodies: %q", rec.Result.Body)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(tt.want) || len(found) != len(tt.want) {
			f.t.Errorf("List(%v, %s, %v, %d) = %v of %d, want %v", tt.like.Identity.Scope, tt.like.Identity.Operation, tt.like.State, tt.limit, got, len(found), tt.want)
		}
	}
}
