package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// handClock moves only when it is told to.
type handClock struct{ micros atomic.Int64 }

func (c *handClock) set(t time.Time) { c.micros.Store(t.UnixMicro()) }
func (c *handClock) now() time.Time  { return time.UnixMicro(c.micros.Load()) }
func (c *handClock) pass(d time.Duration) {
	c.micros.Add(d.Microseconds())
}

// shopAt is a migrated database by a clock that stands at formatClock.
func shopAt(t testing.TB) (*DB, *handClock) {
	t.Helper()
	c := new(handClock)
	c.set(formatClock)
	return openShop(t, Options{Now: c.now}), c
}

// reap looks at all there is to look at now, and demands what it did and that the
// spans follow each other.
func reap(t testing.TB, db *DB, r upkeep.Reap, looked, trimmed, forgotten, unfinished int) {
	t.Helper()
	var sum upkeep.Reaped
	for batches, more := 0, true; more; batches++ {
		done, err := db.Reap(t.Context(), r)
		if err != nil || batches == 1000 {
			t.Fatalf("batch %d: %v", batches, err)
		}
		sum.Looked += done.Looked
		sum.Trimmed += done.Trimmed
		sum.Forgotten += done.Forgotten
		sum.Unfinished += done.Unfinished
		more = done.More
		spans(t, db)
	}
	got, want := [4]int{sum.Looked, sum.Trimmed, sum.Forgotten, sum.Unfinished}, [4]int{looked, trimmed, forgotten, unfinished}
	if got != want {
		t.Errorf("looked, trimmed, forgotten, unfinished: %v, want %v", got, want)
	}
}

// spans are the reaper's, which must follow each other without a gap.
func spans(t testing.TB, db *DB) []upkeep.Span {
	t.Helper()
	all, err := db.Spans(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, s := range all {
		if s.After != last || s.Last <= s.After {
			t.Fatalf("a gap behind %q: %+v", last, all)
		}
		last = s.Last
	}
	return all
}

// place writes a record as another part would leave it.
func place(t testing.TB, db *DB, c refrain.Call, change func(*record.Claim, *record.Record)) record.Record {
	t.Helper()
	claim, err := c.Claim()
	if err != nil {
		t.Fatal(err)
	}
	rec := claim.Begin(db.opts.Now())
	change(claim, rec)
	placed, err := db.Swap(t.Context(), record.Record{}, *rec)
	if err != nil {
		t.Fatal(err)
	}
	return placed
}

// settled ends a record with a result now.
func settled(c *record.Claim, rec *record.Record) {
	rec.Settle(refrain.Result{Status: 201, Header: [][2]string{{"A", "b"}}, Body: []byte("made"), Effect: "/orders/1"}, rec.Created, c.Policy)
}

// A result is kept until its replay ends, the action until its memory does, and
// then its time stays behind as the horizon.
func TestReapTwoSteps(t *testing.T) {
	db, clock := shopAt(t)
	c := call(uuid7(clock.now(), 1))
	out, err := db.Execute(t.Context(), c, func(ctx context.Context, tx Tx) (refrain.Result, error) {
		return refrain.Result{Status: 201, Header: [][2]string{{"A", "b"}}, Body: []byte("made"), Effect: "/orders/1"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	reap(t, db, upkeep.Reap{}, 0, 0, 0, 0) // not settled down yet
	clock.pass(2 * upkeep.Settling)
	reap(t, db, upkeep.Reap{}, 1, 0, 0, 0)

	clock.set(out.ReplayUntil)
	reap(t, db, upkeep.Reap{Until: out.ReplayUntil.Add(-time.Microsecond)}, 0, 0, 0, 0)
	reap(t, db, upkeep.Reap{}, 1, 1, 0, 0)
	rec, err := db.Find(t.Context(), out.Ref)
	want := refrain.Result{Status: 201, Effect: "/orders/1", Digest: record.Trimmed}
	if err != nil || rec.Version != 1 || fmt.Sprint(rec.Result) != fmt.Sprint(want) {
		t.Errorf("trimmed: %+v, %v", rec, err)
	}
	wantRow(t, run(db, c, counted(&runs, put("again"))), "5", refrain.ErrResultGone)
	clock.pass(-time.Minute) // half of a result must not come back
	wantRow(t, run(db, c, counted(&runs, put("again"))), "5", refrain.ErrResultGone)

	clock.set(out.RememberUntil)
	reap(t, db, upkeep.Reap{}, 1, 0, 1, 0)
	wantReceipt(t, db, c, false)
	wantRow(t, run(db, c, counted(&runs, put("again"))), "2", refrain.ErrTooLate)
	equal(t, "runs", runs, 0)
	if horizon, err := db.Horizon(t.Context(), c.Contract.Operation); err != nil || horizon.UnixMilli() != formatClock.UnixMilli() {
		t.Errorf("horizon %v, %v", horizon, err)
	}
}

// A span that holds more than a batch is split, and one without records becomes
// part of the next.
func TestReapSpans(t *testing.T) {
	db, clock := shopAt(t)
	const n = 20
	for i := range n {
		clock.pass(time.Millisecond)
		place(t, db, call(fmt.Sprint("k", i)), settled)
	}
	clock.pass(2 * time.Minute)
	reap(t, db, upkeep.Reap{Limit: 8}, n, 0, 0, 0)
	equal(t, "spans", len(spans(t, db)), 3)
	clock.pass(contract.ReplayFor)
	reap(t, db, upkeep.Reap{Limit: 3}, n, n, 0, 0)
	equal(t, "spans", len(spans(t, db)), 8) // of 3, 3, 2, 3, 3, 2, 3 and 1
	clock.pass(contract.RememberFor)
	done, err := db.Reap(t.Context(), upkeep.Reap{Limit: 3})
	if err != nil || !done.More || done.Forgotten != 3 || done.Lag <= 0 {
		t.Errorf("%+v, %v", done, err)
	}
	equal(t, "spans", len(spans(t, db)), 7)
	reap(t, db, upkeep.Reap{}, n-3, 0, n-3, 0)
	equal(t, "spans", len(spans(t, db)), 1)
	newest := spans(t, db)[0]
	late := place(t, db, call("late"), settled)
	clock.pass(2 * time.Minute)
	reap(t, db, upkeep.Reap{}, 1, 0, 0, 0)
	if all := spans(t, db); len(all) != 1 || all[0].Last != late.Ref || newest.Last >= late.Ref {
		t.Errorf("the empty span was not taken over: %+v", all)
	}
}

// A record that comes into a span late is seen with it: its transaction was slow,
// or the clock went back.
func TestReapStrays(t *testing.T) {
	db, clock := shopAt(t)
	place(t, db, call("first"), settled)
	clock.pass(time.Hour)
	place(t, db, call("last"), settled)
	clock.pass(2 * time.Minute)
	reap(t, db, upkeep.Reap{}, 2, 1, 0, 0)

	clock.pass(-20 * time.Minute)
	place(t, db, call("stray"), settled)
	due := spans(t, db)[0].Due
	clock.pass(-40 * time.Minute)
	reap(t, db, upkeep.Reap{}, 0, 0, 0, 0)
	if now := spans(t, db)[0].Due; !now.Equal(upkeep.Idle(clock.now())) || !now.Before(due) {
		t.Errorf("the clock went back and the span is due %v, was %v", now, due)
	}
	clock.pass(10 * contract.RememberFor)
	reap(t, db, upkeep.Reap{}, 3, 0, 3, 0)
}

// What nobody has settled, or nobody can read, never ends by age.
func TestReapSpares(t *testing.T) {
	db, clock := shopAt(t)
	if err := db.Register(t.Context(), contract); err != nil {
		t.Fatal(err)
	}
	timed := call(uuid7(clock.now(), 1))
	timed.Contract.Operation = "never.registered" // and so without a horizon to raise
	spared := map[string]record.Record{
		"accepted":  place(t, db, call("accepted"), func(_ *record.Claim, r *record.Record) { r.State = record.Accepted }),
		"submitted": place(t, db, call("submitted"), func(*record.Claim, *record.Record) {}),
		"unknown":   place(t, db, call("unknown"), func(_ *record.Claim, r *record.Record) { r.State = record.Unknown }),
		"disputed":  place(t, db, call("disputed"), func(c *record.Claim, r *record.Record) { settled(c, r); r.Disputed = true }),
		"timed":     place(t, db, timed, settled),
	}
	change := map[string]string{
		"state": `state = 99`, "elsewhere": `key = key || x'78'`, "newer": `format = 1000`, "endless": `remember_until = NULL`,
		"print": `raw = x'00'`, "evidence": `evidence = 'x'`,
	}
	for name, set := range change {
		spared[name] = place(t, db, call(name), settled)
		if err := db.Setup(t.Context(), `UPDATE refrain_record SET `+set+` WHERE ref = '`+spared[name].Ref+`'`); err != nil {
			t.Fatal(err)
		}
	}
	for name, state := range map[string]string{"open step": `NULL, 0`, "disputed step": `1, 1`} {
		spared[name] = place(t, db, call(name), settled)
		o := intent("step")
		o.Action = spared[name].Ref
		err := db.Update(t.Context(), func(ctx context.Context, tx Tx) error {
			return errors.Join(db.Operations().Add(ctx, tx, o), func() error {
				_, err := tx.ExecContext(ctx, `UPDATE refrain_external SET (final, disputed) = (`+state+`) WHERE action = ?`, o.Action)
				return err
			}())
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	place(t, db, call("done"), settled)
	clock.set(clock.now().AddDate(50, 0, 0))
	reap(t, db, upkeep.Reap{}, len(spared)+1, 0, 1, len(spared))
	clock.pass(2 * time.Hour)
	reap(t, db, upkeep.Reap{}, len(spared), 0, 0, len(spared))

	walked, err := db.Walk(t.Context(), "", 0)
	if err != nil || len(walked.Records) != len(spared)-len(change) || walked.Next != "" {
		t.Errorf("%d records, next %q, %v", len(walked.Records), walked.Next, err)
	}
	for name := range change {
		if err := walked.Unreadable[spared[name].Ref]; !errors.Is(err, refrain.ErrUnreadable) {
			t.Errorf("%s: %v, want ErrUnreadable", name, err)
		}
	}
	if err := walked.Unreadable[spared["newer"].Ref]; !errors.Is(err, record.ErrNewerFormat) {
		t.Errorf("newer: %v does not say so", err)
	}
	if err := db.Register(t.Context(), timed.Contract); err != nil {
		t.Fatal(err)
	}
	clock.pass(2 * time.Hour)
	reap(t, db, upkeep.Reap{}, len(spared), 0, 1, len(spared)-1)
}

// What is forgotten is archived first, in full, and not more at a time than fits;
// without its archive nothing is forgotten.
func TestReapArchive(t *testing.T) {
	db, clock := shopAt(t)
	var want []record.Record
	for i := range 3 {
		clock.pass(time.Millisecond)
		want = append(want, place(t, db, call(uuid7(clock.now(), i)), func(c *record.Claim, r *record.Record) {
			settled(c, r)
			r.Result.Body = make([]byte, pageBytes*3/4)
			r.Evidence = []record.Result{{Status: 402}}
		}))
	}
	if err := db.Register(t.Context(), contract); err != nil {
		t.Fatal(err)
	}
	clock.pass(contract.RememberFor)
	full := errors.New("no space")
	parts, fails := [][]record.Record(nil), 2
	archive := func(ctx context.Context, rs []record.Record) error {
		if parts = append(parts, rs); len(parts) == fails {
			return full
		}
		return nil
	}
	if _, err := db.Reap(t.Context(), upkeep.Reap{Archive: archive}); !errors.Is(err, full) {
		t.Errorf("%v, want the archive's error", err)
	}
	if recs, err := db.List(t.Context(), record.Record{}, 0); err != nil || len(recs) != len(want) {
		t.Errorf("%d records are left, %v", len(recs), err)
	}
	if horizon, err := db.Horizon(t.Context(), contract.Operation); err != nil || !horizon.IsZero() {
		t.Errorf("horizon %v, %v", horizon, err)
	}
	parts, fails = nil, 0
	reap(t, db, upkeep.Reap{Archive: archive}, 3, 0, 3, 0)
	equal(t, "parts", len(parts), 2)
	equal(t, "archived", slices.Concat(parts...), want)
}

// Between the writes and their COMMIT nobody sees the one without the other: the
// record, or the horizon that forgetting it raised.
func TestReapParked(t *testing.T) {
	db, clock := shopAt(t)
	timed := call(uuid7(clock.now(), 1))
	if err := run(db, timed, put("timed")); err != nil {
		t.Fatal(err)
	}
	clock.pass(3 * time.Hour) // past the memory
	claim, err := timed.Claim()
	if err != nil {
		t.Fatal(err)
	}
	parked, released := make(chan struct{}), make(chan struct{})
	db.parked = func() {
		close(parked)
		<-released
	}
	reaped := make(chan error, 1)
	go func() {
		done, err := db.Reap(t.Context(), upkeep.Reap{})
		if done.Forgotten != 1 {
			err = errors.Join(err, errors.New("nothing forgotten"))
		}
		reaped <- err
	}()
	<-parked
	seen, _, err := db.Load(t.Context(), claim.Identity)
	if err != nil || seen.Record == nil || !seen.Horizon.IsZero() {
		t.Errorf("while parked: record %v, horizon %v, %v", seen.Record, seen.Horizon, err)
	}
	ran := 0
	refused := make(chan error, 1)
	go func() { refused <- run(db, timed, counted(&ran, put("again"))) }() // also looks, then stores its review behind the reaper
	awaitQueue(t, db, 1)
	close(released)
	if err := <-reaped; err != nil {
		t.Error(err)
	}
	wantRow(t, <-refused, "2", refrain.ErrTooLate)
	seen, _, err = db.Load(t.Context(), claim.Identity)
	if err != nil || seen.Record != nil || seen.Horizon.IsZero() {
		t.Errorf("afterwards: record %v, horizon %v, %v", seen.Record, seen.Horizon, err)
	}
	wantRow(t, run(db, timed, counted(&ran, put("again"))), "2", refrain.ErrTooLate)
	equal(t, "runs", ran, 0)
	wantItems(t, db, "timed")
}

// Reapers that find nothing take no lock: another process may hold it for long.
func TestReapNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	clock := new(handClock)
	clock.set(formatClock)
	db := openAt(t, path, Options{Now: clock.now})
	place(t, db, call("k"), settled)
	clock.pass(2 * time.Minute)
	reap(t, db, upkeep.Reap{}, 1, 0, 0, 0)
	unlock := lock(t, plain(t, path))
	defer unlock()
	if done, err := db.Reap(t.Context(), upkeep.Reap{}); err != nil || done != (upkeep.Reaped{Now: clock.now()}) {
		t.Errorf("%+v, %v", done, err)
	}
}

// Several reapers, in one process and in two, share the work.
func TestReapTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	clock := new(handClock)
	clock.set(formatClock)
	db := openAt(t, path, Options{Now: clock.now})
	const n = 60
	for i := range n {
		clock.pass(time.Millisecond)
		place(t, db, call(fmt.Sprint("k", i)), settled)
	}
	clock.pass(contract.RememberFor)
	var forgotten atomic.Int64
	var wg sync.WaitGroup
	for _, reaper := range []*DB{db, db, openAt(t, path, Options{Now: clock.now})} {
		wg.Go(func() {
			for more := true; more; {
				done, err := reaper.Reap(context.Background(), upkeep.Reap{Limit: 7})
				if err != nil {
					t.Error(err)
				}
				forgotten.Add(int64(done.Forgotten))
				more = done.More
			}
		})
	}
	wg.Wait()
	equal(t, "forgotten", forgotten.Load(), n)
	equal(t, "spans", len(spans(t, db)), 1)
}

// Tombstones give back what their results took, and keep their place in lists.
func TestReapFreesPages(t *testing.T) {
	const n = 600
	db, clock := filled(t, n, 200)
	clock.pass(contract.ReplayFor)
	place(t, db, call("fresh"), settled)
	before := pages(t, db)
	inOrder := func() (refs []string) {
		t.Helper()
		oldest, _, err := db.Oldest(t.Context(), Query{State: "confirmed", Limit: 1000})
		newest, listErr := db.List(t.Context(), record.Record{}, 1000)
		if err := errors.Join(err, listErr); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(newest)
		for i, rec := range oldest {
			refs = append(refs, rec.Ref)
			equal(t, "newest and oldest", rec.Ref, newest[i].Ref)
		}
		return refs
	}
	refs := inOrder()
	equal(t, "records", len(refs), n+1)
	reap(t, db, upkeep.Reap{}, n, n, 0, 0)
	if after := pages(t, db); after > before*3/4 {
		t.Errorf("%d bytes are used, %d before the results went", after, before)
	}
	equal(t, "records in order", inOrder(), refs)
}
