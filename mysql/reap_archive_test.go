package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// Nothing is forgotten that was not archived as it stood, and the archive keeps no
// execution waiting.
func TestReapArchive(t *testing.T) {
	a := newAged(t)
	refs := a.buys(t, "a", "changed", "garbled", "d")
	must(t, a.raw, "UPDATE refrain_record SET evidence = 'x' WHERE `key` = 'garbled'")
	a.now = a.now.Add(25 * time.Hour)
	full := errors.New("the disk is full")
	if _, err := a.db.Reap(t.Context(), upkeep.Reap{Archive: func(context.Context, []record.Record) error { return full }}); !errors.Is(err, full) {
		t.Errorf("Reap: %v", err)
	}
	a.receipts(t, 4)
	if spans := a.tiled(t); len(spans) != 0 {
		t.Errorf("spans %+v", spans)
	}
	var kept []string
	done, err := a.db.Reap(t.Context(), upkeep.Reap{Archive: func(_ context.Context, recs []record.Record) error {
		for _, rec := range recs {
			kept = append(kept, rec.Ref)
			if string(rec.Result.Body) != rec.Identity.Key {
				t.Errorf("archived %q as %q", rec.Identity.Key, rec.Result.Body)
			}
		}
		must(t, a.raw, "UPDATE refrain_record SET version = 2 WHERE `key` = 'changed'")
		mustBuy(t, a.another, order("meanwhile"))
		return nil
	}})
	if err != nil || done.Forgotten != 2 || done.Unfinished != 1 {
		t.Errorf("Reap: %+v, %v", done, err)
	}
	if want := []string{refs[0], refs[1], refs[3]}; !slices.Equal(kept, want) {
		t.Errorf("archived %q, want %q", kept, want)
	}
	a.receipts(t, 3)
	if spans := a.tiled(t); len(spans) != 1 || !spans[0].Due.Equal(a.now.Add(time.Minute)) {
		t.Errorf("spans %+v", spans)
	}
}

// A page of large results ends early, in an archive and in a walk, and nothing is
// passed over.
func TestPagesOfLargeResults(t *testing.T) {
	a := newAged(t)
	var want []string
	for i := range 5 {
		call := order(fmt.Sprint("large ", i))
		call.Contract.MaxResponse = 8 << 20
		result := made
		result.Body = make([]byte, 7<<20)
		out, err := a.db.Execute(t.Context(), call, func(context.Context, Tx) (refrain.Result, error) { return result, nil })
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, out.Ref)
		a.now = a.now.Add(time.Millisecond)
	}
	var walked []string
	pages := 0
	for after, more := "", true; more; pages++ {
		w, err := a.db.Walk(t.Context(), after, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range w.Records {
			walked = append(walked, rec.Ref)
		}
		after, more = w.Next, w.Next != ""
	}
	if !slices.Equal(walked, want) || pages != 2 {
		t.Errorf("walked %q in %d pages, want %q", walked, pages, want)
	}
	a.now = a.now.Add(25 * time.Hour)
	var parts []int
	done, err := a.db.Reap(t.Context(), upkeep.Reap{Archive: func(_ context.Context, recs []record.Record) error {
		parts = append(parts, len(recs))
		return nil
	}})
	if err != nil || done.Forgotten != 5 || !slices.Equal(parts, []int{3, 2}) {
		t.Errorf("Reap: %+v, %v, in parts of %v", done, err, parts)
	}
}

// A walk goes on behind what cannot be read, and tells of it.
func TestWalkUnreadable(t *testing.T) {
	a := newAged(t)
	refs := a.buys(t, "a", "state", "format", "hash", "evidence", "f")
	for key, set := range map[string]string{"state": "state = 99", "format": "format = 2", "hash": "scope = 'tenant=east'", "evidence": "evidence = 'x'"} {
		must(t, a.raw, "UPDATE refrain_record SET "+set+" WHERE `key` = '"+key+"'")
	}
	w, err := a.db.Walk(t.Context(), "", 6)
	if err != nil || len(w.Records) != 2 || len(w.Unreadable) != 4 || w.Next != refs[5] {
		t.Errorf("Walk: %+v, %v", w, err)
	}
	for ref, why := range w.Unreadable {
		if !slices.Contains(refs[1:5], ref) || !errors.Is(why, record.RecordUnreadable) {
			t.Errorf("%s: %v", ref, why)
		}
	}
	if w, err = a.db.Walk(t.Context(), refs[3], 6); err != nil || len(w.Records) != 1 || len(w.Unreadable) != 1 || w.Next != "" {
		t.Errorf("Walk: %+v, %v", w, err)
	}
	if _, err := a.db.Walk(t.Context(), "op_", 1); !errors.Is(err, errRef) {
		t.Errorf("Walk behind no ref: %v", err)
	}
	a.now = a.now.Add(25 * time.Hour)
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{Looked: 6, Forgotten: 3, Unfinished: 3}) // only an archive reads evidence
}
