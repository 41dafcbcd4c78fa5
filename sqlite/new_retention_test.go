package sqlite

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// An engine on a handle of the application's keeps its memory in order like one
// that has opened the file.
func TestNewRetention(t *testing.T) {
	clock := new(handClock)
	clock.set(formatClock)
	db, _ := onHandle(t, Options{Now: clock.now})
	var want []record.Record
	for i := range 5 {
		clock.pass(time.Millisecond)
		want = append(want, place(t, db, call(fmt.Sprint("k", i)), settled))
	}
	var got []record.Record
	for after, pages := "", 0; pages == 0 || after != ""; pages++ {
		walked, err := db.Walk(t.Context(), after, 2)
		if err != nil || len(walked.Records) > 2 || len(walked.Unreadable) != 0 {
			t.Fatalf("%+v, %v", walked, err)
		}
		got = append(got, walked.Records...)
		after = walked.Next
	}
	equal(t, "walked", got, want)

	clock.pass(contract.ReplayFor)
	reap(t, db, upkeep.Reap{Limit: 3}, 5, 5, 0, 0)
	clock.pass(contract.RememberFor)
	archived := 0
	reap(t, db, upkeep.Reap{Limit: 3, Archive: func(_ context.Context, rs []record.Record) error {
		archived += len(rs)
		return nil
	}}, 5, 0, 5, 0)
	equal(t, "archived", archived, 5)

	for _, fails := range []bool{true, false, true} {
		err := run(db, named("once", fmt.Sprint(fails, clock.now().UnixMicro())), func(ctx context.Context, tx Tx) (refrain.Result, error) {
			err := db.Once(ctx, tx, "invoice", "7")
			if fails && err == nil {
				err = errors.New("no")
			}
			return done, err
		})
		if (err != nil) != fails {
			t.Error(err)
		}
		clock.pass(time.Second)
	}
	wantOnces(t, db, "7")
	id, err := db.SetFence(t.Context(), upkeep.Fence{Until: formatClock, By: "ops", Reason: "restored"})
	if err != nil {
		t.Fatal(err)
	}
	if fences, err := db.Fences(t.Context()); err != nil || len(fences) != 1 || fences[0].ID != id {
		t.Errorf("%+v, %v", fences, err)
	}
	if is, err := db.Advance(t.Context()); err != nil || is.Counter != 1 {
		t.Errorf("%+v, %v", is, err)
	}
}
