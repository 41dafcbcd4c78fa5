package mysql

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// aged is a shop whose clock the test moves, on two connections.
type aged struct {
	shop
	now         time.Time
	db, another *DB
}

func newAged(t testing.TB) *aged {
	t.Helper()
	a := &aged{shop: newShop(t), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	opts := Options{Now: func() time.Time { return a.now }}
	a.db, a.another = opened(t, a.cfg, opts), onForeign(t, a.cfg, opts)
	return a
}

// reap runs one batch, which must do so much.
func (a *aged) reap(t testing.TB, ask upkeep.Reap, want upkeep.Reaped) {
	t.Helper()
	done, err := a.db.Reap(context.Background(), ask)
	want.Now = a.now
	if err != nil || done != want {
		t.Errorf("Reap: %+v, %v; want %+v", done, err, want)
	}
	a.tiled(t)
}

// tiled checks that spans follow each other without a gap, and returns them.
func (a *aged) tiled(t testing.TB) []upkeep.Span {
	t.Helper()
	spans, err := a.db.Spans(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, s := range spans {
		if s.After != last || s.Last <= s.After {
			t.Errorf("spans %+v", spans)
			break
		}
		last = s.Last
	}
	return spans
}

// buys makes records a millisecond apart.
func (a *aged) buys(t testing.TB, keys ...string) (refs []string) {
	t.Helper()
	for _, key := range keys {
		refs = append(refs, mustBuy(t, a.db, order(key)).Ref)
		a.now = a.now.Add(time.Millisecond)
	}
	return refs
}

// A span goes from its survey to its end: results are taken, records forgotten, and
// what is empty is given up.
func TestReapSpans(t *testing.T) {
	a := newAged(t)
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{})
	start := a.now
	a.buys(t, "a", "b", "c", "d", "e")
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{}) // too young to be looked at
	a.now = start.Add(2 * time.Minute)
	a.reap(t, upkeep.Reap{Limit: 3}, upkeep.Reaped{Looked: 3, More: true})
	a.reap(t, upkeep.Reap{Limit: 3}, upkeep.Reaped{Looked: 2})
	a.reap(t, upkeep.Reap{Limit: 3}, upkeep.Reaped{})
	if spans := a.tiled(t); len(spans) != 2 || spans[0].Due.Sub(start) < time.Hour || spans[0].Due.Sub(start) > time.Hour+time.Minute {
		t.Errorf("spans %+v", spans)
	}
	a.now = start.Add(2 * time.Hour)
	a.reap(t, upkeep.Reap{Limit: 2}, upkeep.Reaped{Looked: 2, Trimmed: 2, More: true, Lag: time.Hour - 2*time.Millisecond}) // of three
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{Looked: 2, Trimmed: 2, More: true, Lag: time.Hour - 4*time.Millisecond})
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{Looked: 1, Trimmed: 1})
	if spans := a.tiled(t); len(spans) != 3 {
		t.Errorf("spans %+v", spans)
	}
	if kept := column(t, a.raw, `SELECT count(*) FROM refrain_record WHERE body IS NULL AND header IS NULL AND digest = X'00' AND version = 1`); kept[0] != "5" {
		t.Errorf("%s results taken", kept[0])
	}
	a.now = start.Add(26 * time.Hour)
	for _, left := range []int{2, 1, 1} { // the first is left to the second, and that to the third
		done, err := a.db.Reap(t.Context(), upkeep.Reap{})
		if err != nil || done.Forgotten == 0 {
			t.Errorf("Reap: %+v, %v", done, err)
		}
		if spans := a.tiled(t); len(spans) != left {
			t.Errorf("spans %+v, want %d", spans, left)
		}
	}
	a.receipts(t, 0)
	old := a.tiled(t)
	a.now = a.now.Add(time.Minute)
	a.buys(t, "f")
	a.now = a.now.Add(2 * time.Minute)
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{Looked: 1})
	if spans := a.tiled(t); len(spans) != 1 || spans[0].Last == old[0].Last {
		t.Errorf("spans %+v, want one in the place of %+v", spans, old)
	}
}

// An empty span that is looked at again while it is the newest stays, and is given
// up when another follows.
func TestReapIdleSpan(t *testing.T) {
	a := newAged(t)
	a.buys(t, "a")
	a.now = a.now.Add(25 * time.Hour)
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{Looked: 1, Forgotten: 1})
	a.now = a.now.Add(2 * time.Hour)
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{Lag: time.Hour})
	if spans := a.tiled(t); len(spans) != 1 || !spans[0].Due.Equal(a.now.Add(time.Hour)) {
		t.Errorf("spans %+v", spans)
	}
	// One that comes late into it is seen with it.
	claim, err := order("late").Claim()
	if err != nil {
		t.Fatal(err)
	}
	rec := claim.Begin(a.now.Add(-28 * time.Hour))
	rec.Settle(made, a.now.Add(-28*time.Hour), claim.Policy)
	if _, err := a.db.Swap(t.Context(), record.Record{}, *rec); err != nil {
		t.Fatal(err)
	}
	a.buys(t, "b")
	a.now = a.now.Add(2 * time.Minute)
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{Looked: 1})
	if spans := a.tiled(t); len(spans) != 2 {
		t.Errorf("spans %+v: the late one is in the first", spans)
	}
	a.now = a.now.Add(58 * time.Minute)
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{Looked: 1, Forgotten: 1, Lag: time.Millisecond, More: true})
	if spans := a.tiled(t); len(spans) != 1 {
		t.Errorf("spans %+v", spans)
	}
}

// Where the clock was set back, what is recorded meanwhile comes into spans that
// exist: they are looked at within the hour.
func TestReapClockSetBack(t *testing.T) {
	a := newAged(t)
	a.buys(t, "a")
	a.now = a.now.Add(25 * time.Hour) // and a day later it turns out to be wrong
	a.buys(t, "b")
	a.now = a.now.Add(2 * time.Minute)
	a.reap(t, upkeep.Reap{Until: a.now.Add(-24 * time.Hour)}, upkeep.Reaped{Looked: 2, Trimmed: 1})
	a.now = a.now.Add(-12 * time.Hour)
	a.buys(t, "c")
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{})
	if spans := a.tiled(t); len(spans) != 1 || spans[0].Due.After(a.now.Add(time.Hour)) {
		t.Errorf("spans %+v", spans)
	}
	a.now = a.now.Add(61 * time.Minute)
	done, err := a.db.Reap(t.Context(), upkeep.Reap{})
	if err != nil || done.Looked != 3 || done.Trimmed != 1 {
		t.Errorf("Reap: %+v, %v", done, err)
	}
}

// A record that is being taken over is no longer the reaper's, and does not keep
// it waiting.
func TestReapPassesATakeOver(t *testing.T) {
	a := newAged(t)
	a.buys(t, "taken", "due")
	a.now = a.now.Add(25 * time.Hour)
	parked, release := make(chan struct{}), newGate(t)
	a.another.beforeCommit = func() error { // the old record is removed by now
		close(parked)
		<-release.opened
		return nil
	}
	took := make(chan error, 1)
	go func() {
		out, err := a.another.Execute(t.Context(), order("taken"), buys("again"))
		if err == nil && out.Replayed {
			err = fmt.Errorf("replayed %+v", out)
		}
		took <- err
	}()
	await(t, parked, "the take-over")
	reaped := make(chan error, 1)
	go func() {
		done, err := a.db.Reap(t.Context(), upkeep.Reap{})
		if err == nil && done.Forgotten != 1 {
			err = fmt.Errorf("%+v, want the other one forgotten", done)
		}
		reaped <- err
	}()
	select {
	case err := <-reaped:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience / 3):
		t.Error("the reaper waits for a take-over")
	}
	release.open()
	if err := await(t, took, "the take-over"); err != nil {
		t.Fatal(err)
	}
	a.another.beforeCommit = nil
	if spans := a.tiled(t); len(spans) != 1 || !spans[0].Due.Equal(a.now.Add(time.Minute)) {
		t.Errorf("spans %+v, want to be back in a minute", spans)
	}
	a.now = a.now.Add(time.Minute)
	if done, err := a.db.Reap(t.Context(), upkeep.Reap{}); err != nil || done.Forgotten != 0 {
		t.Errorf("then %+v, %v", done, err)
	}
	if again := mustBuy(t, a.db, order("taken")); !again.Replayed {
		t.Error("the new record is lost")
	}
}

// A rekey that ends between the reaper's look and its locks moved the record to
// an operation whose horizon nobody raised: the record stays.
func TestReapAfterARekey(t *testing.T) {
	a := newAged(t)
	const timed = "01943000-0000-7000-8000-000000000001" // a UUIDv7 of January 2025
	ref := a.buys(t, timed)[0]
	a.now = a.now.Add(25 * time.Hour)
	tx, err := a.raw.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec(`SELECT * FROM refrain_operation FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	forgot := make(chan int, 1)
	go func() {
		done, err := a.db.Reap(t.Context(), upkeep.Reap{})
		if err != nil {
			t.Error(err)
		}
		forgot <- done.Forgotten
	}()
	a.awaitLockWait(t, 1)
	moved := order(timed)
	moved.Contract.Operation = "orders.place"
	hash := identityOf(t, moved).Hash()
	for _, statement := range []string{
		`UPDATE refrain_operation SET identity = 'moved to orders.place', contract = ''`,
		`INSERT INTO refrain_operation VALUES ('orders.place', 'tenant[,subject]', '{}', NULL)`,
		fmt.Sprintf(`UPDATE refrain_record SET operation = 'orders.place', hash = x'%x'`, hash),
	} {
		if _, err := tx.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := await(t, forgot, "the reaper"); n != 0 {
		t.Errorf("forgot %d", n)
	}
	if rec, err := a.db.Find(t.Context(), ref); err != nil || rec.Identity.Operation != "orders.place" {
		t.Errorf("found %+v, %v", rec, err)
	}
	a.now = a.now.Add(time.Minute)
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{Looked: 1, Forgotten: 1})
	if horizon, err := a.db.Horizon(t.Context(), "orders.place"); err != nil || horizon.IsZero() {
		t.Errorf("horizon %v, %v", horizon, err)
	}
}

// An operation that the store does not know has no horizon: a timed record of it
// stays, although nothing else keeps it.
func TestReapUnknownOperation(t *testing.T) {
	a := newAged(t)
	a.buys(t, "plain", "01943000-0000-7000-8000-000000000001")
	must(t, a.raw, `DELETE FROM refrain_operation`)
	a.now = a.now.Add(25 * time.Hour)
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{Looked: 2, Forgotten: 1, Unfinished: 1})
	a.receipts(t, 1)
	mustBuy(t, a.db, order("learnt"))
	a.now = a.now.Add(time.Hour)
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{Looked: 1, Forgotten: 1, More: true})
}

// A record with an external operation that is not settled stays, and so does one
// that gets such an operation while the reaper is at it.
func TestReapSparesOperations(t *testing.T) {
	a := newAged(t)
	refs := a.buys(t, "pending", "disputed", "settled", "late")
	accept := func(ref string, final any, disputed bool) {
		must(t, a.raw, "INSERT INTO refrain_external (ref, action, step, provider, `partition`, version, format, state, disputed, created, final, data, input)"+
			fmt.Sprintf(" VALUES (X'%x', X'%x', 's', 'bank', '', 1, 1, 1, %t, 1, %v, '{}', '')", encodeRef(record.NewRef(a.now)), encodeRef(ref), disputed, final))
	}
	accept(refs[0], "NULL", false)
	accept(refs[1], "1", true)
	accept(refs[2], "1", false)
	a.now = a.now.Add(25 * time.Hour)
	ask := upkeep.Reap{Archive: func(context.Context, []record.Record) error {
		accept(refs[3], "NULL", false)
		return nil
	}}
	a.reap(t, ask, upkeep.Reaped{Looked: 4, Forgotten: 1, Unfinished: 2})
	must(t, a.raw, `UPDATE refrain_external SET final = 1, disputed = FALSE`)
	a.now = a.now.Add(time.Hour)
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{Looked: 3, Forgotten: 3, Lag: time.Hour - time.Minute})
}

// Who writes a record of the operation waits for no more than a few hundred.
func TestReapMany(t *testing.T) {
	for _, seen := range []bool{false, true} {
		a := newAged(t)
		a.buys(t, "first")
		const n = 2*mostHeld + 7
		fill(t, a.shop, n-1, a.now)
		if seen {
			a.now = a.now.Add(2 * time.Minute)
			a.reap(t, upkeep.Reap{}, upkeep.Reaped{Looked: n})
		}
		a.now = a.now.Add(25 * time.Hour)
		for _, want := range []int{mostHeld, mostHeld, 7} {
			if done, err := a.db.Reap(t.Context(), upkeep.Reap{}); err != nil || done.Looked != want || done.Forgotten != want || done.More != (want == mostHeld) {
				t.Errorf("seen=%t: %+v, %v; want %d forgotten", seen, done, err, want)
			}
			if spans := a.tiled(t); len(spans) != 1 {
				t.Errorf("seen=%t: spans %+v", seen, spans)
			}
		}
		a.receipts(t, 0)
	}
}

// Several reapers have a span each, and nobody waits for anybody; one surveys.
func TestReapTogether(t *testing.T) {
	a := newAged(t)
	a.buys(t, "a", "b", "c", "d")
	a.now = a.now.Add(2 * time.Minute)
	for range 3 { // a span for two, and one each for the others
		a.reapAny(t, 2)
	}
	a.now = a.now.Add(2 * time.Hour)
	a.buys(t, "new")
	a.now = a.now.Add(time.Hour)
	parked, release := make(chan struct{}, 1), newGate(t)
	a.db.parked = func() {
		parked <- struct{}{}
		<-release.opened
	}
	first := make(chan upkeep.Reaped, 1)
	go func() {
		done, err := a.db.Reap(t.Context(), upkeep.Reap{})
		if err != nil {
			t.Error(err)
		}
		first <- done
	}()
	await(t, parked, "the first reaper")
	second, err := a.another.Reap(t.Context(), upkeep.Reap{})
	if err != nil || second.Trimmed != 2 || !second.More {
		t.Errorf("beside it: %+v, %v", second, err)
	}
	third, err := a.another.Reap(t.Context(), upkeep.Reap{}) // the survey
	if err != nil || third.Looked != 1 || third.Trimmed != 1 || !third.More {
		t.Errorf("the survey: %+v, %v", third, err)
	}
	release.open()
	if done := await(t, first, "the first reaper"); done.Trimmed != 2 {
		t.Errorf("the first: %+v", done)
	}
	a.tiled(t)

	a.now = a.now.Add(2 * time.Minute)
	a.buys(t, "newer", "newest")
	a.now = a.now.Add(2 * time.Hour)
	parked, release = make(chan struct{}, 1), newGate(t)
	go func() {
		done, err := a.db.Reap(t.Context(), upkeep.Reap{Limit: 1})
		if err != nil {
			t.Error(err)
		}
		first <- done
	}()
	await(t, parked, "a survey")
	if done, err := a.another.Reap(t.Context(), upkeep.Reap{}); err != nil || done.Looked != 0 || !done.More {
		t.Errorf("a second survey: %+v, %v", done, err)
	}
	release.open()
	await(t, first, "the survey")
	a.tiled(t)
}

func (a *aged) reapAny(t testing.TB, limit int) {
	t.Helper()
	if _, err := a.db.Reap(context.Background(), upkeep.Reap{Limit: limit}); err != nil {
		t.Fatal(err)
	}
}

// A caller of ExecuteIn who takes his time keeps the operation's row. A reaper that
// waits for it, and a process that starts and registers what is registered, keep
// nobody else from it for longer than a second, nor after they gave up.
func TestReapBesideOpenTransaction(t *testing.T) {
	a := newAged(t)
	a.buys(t, "old")
	if err := a.db.Register(t.Context(), order("old").Contract); err != nil {
		t.Fatal(err)
	}
	a.now = a.now.AddDate(20, 0, 0)
	tx, err := a.raw.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := a.db.ExecuteIn(t.Context(), tx, order("joined"), buys("joined")); err != nil {
		t.Fatal(err)
	}
	if err := a.another.Register(t.Context(), order("old").Contract); err != nil {
		t.Errorf("Register: %v", err)
	}
	for _, db := range []*DB{a.db, a.another} {
		if _, err := db.Reap(t.Context(), upkeep.Reap{}); !errors.Is(err, record.StoreUnavailable) {
			t.Errorf("Reap: %v", err)
		}
	}
	mustBuy(t, a.db, order("meanwhile"))
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	a.reap(t, upkeep.Reap{}, upkeep.Reaped{Looked: 1, Forgotten: 1})
}
