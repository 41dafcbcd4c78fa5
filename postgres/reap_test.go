package postgres

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

// reaps does batches until there is no more, and demands what they did.
func (k *keeper) reaps(t testing.TB, r upkeep.Reap, trimmed, forgotten int) {
	t.Helper()
	var sum upkeep.Reaped
	for more := true; more; {
		done, err := k.Reap(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		sum.Trimmed, sum.Forgotten, more = sum.Trimmed+done.Trimmed, sum.Forgotten+done.Forgotten, done.More
	}
	if sum.Trimmed != trimmed || sum.Forgotten != forgotten {
		t.Errorf("%d trimmed and %d forgotten, want %d and %d", sum.Trimmed, sum.Forgotten, trimmed, forgotten)
	}
	k.tiled(t)
}

// verified demands that everything in the store holds.
func verified(t testing.TB, v upkeep.Verify) {
	t.Helper()
	found, err := v.Run(t.Context())
	if err != nil || !found.OK() {
		t.Errorf("verify: %+v, %v", found, err)
	}
}

// tiled demands that spans follow each other without a gap, and returns them.
func (k *keeper) tiled(t testing.TB) []upkeep.Span {
	t.Helper()
	spans, err := k.Spans(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after := ""
	for _, s := range spans {
		if s.After != after || s.Last <= s.After {
			t.Fatalf("spans do not follow each other: %+v", spans)
		}
		after = s.Last
	}
	return spans
}

// overdue is when everything that keeperCall makes has ended.
func overdue(now time.Time) time.Time { return now.Add(3 * time.Hour) }

// Between the deletion and its COMMIT nobody sees the one without the other: the
// record, or the horizon that forgetting it raised.
func TestReapParked(t *testing.T) {
	now := noon
	k := newKeeper(t, "native", at(&now))
	timed := keeperCall("01938e85-1000-7000-8000-000000000001") // a UUIDv7 of November 2024
	k.mustSettle(t, timed)
	now = now.Add(2 * time.Hour) // past the memory at the instant itself
	claim := claimOf(t, timed)
	other := k.sibling(t)
	k.parked = func() {
		seen, _, err := other.Load(t.Context(), claim.Identity)
		if err != nil || seen.Record == nil || !seen.Horizon.IsZero() {
			t.Errorf("while parked: record %v, horizon %v, %v", seen.Record, seen.Horizon, err)
		}
	}
	k.reaps(t, upkeep.Reap{}, 0, 1)
	seen, _, err := other.Load(t.Context(), claim.Identity)
	if err != nil || seen.Record != nil || seen.Horizon.IsZero() {
		t.Errorf("afterwards: record %v, horizon %v, %v", seen.Record, seen.Horizon, err)
	}
	_, err = k.settle(claim, nil)
	if !errors.Is(err, refrain.ErrTooLate) {
		t.Errorf("it runs again: %v", err)
	}
}

// The horizon only rises, and untimed keys leave it alone.
func TestReapHorizonRises(t *testing.T) {
	now := noon
	k := newKeeper(t, "pgx", at(&now))
	key := func(month int) string { // born in that month of 2025
		born := time.Date(2025, time.Month(month), 1, 0, 0, 0, 0, time.UTC).UnixMilli()
		return fmt.Sprintf("%08x-%04x-7000-8000-%012x", born>>16, born&0xffff, month)
	}
	for _, step := range []struct {
		keys []string
		want time.Month // of the horizon, 0 for none
	}{
		{[]string{"untimed"}, 0}, {[]string{key(3), key(5), key(4)}, 5}, {[]string{key(6)}, 6}, {[]string{"other"}, 6},
	} {
		for _, key := range step.keys {
			k.mustSettle(t, keeperCall(key))
		}
		now = overdue(now)
		k.reaps(t, upkeep.Reap{}, 0, len(step.keys))
		horizon, err := k.Horizon(t.Context(), "orders.create")
		if err != nil || horizon.IsZero() != (step.want == 0) || step.want != 0 && horizon.Month() != step.want {
			t.Errorf("after %v: %v, %v", step.keys, horizon, err)
		}
	}
	// An allowed older one is forgotten later.
	old := claimOf(t, keeperCall(key(1)))
	k.setup(t, `INSERT INTO {schema}.allow VALUES ($1::text::uuid, $2, $3, $4, '', '', 0)`, hashText(old.Hash), old.Identity.Scope, old.Identity.Operation, []byte(old.Identity.Key))
	k.mustSettle(t, keeperCall(key(1)))
	now = overdue(now)
	k.reaps(t, upkeep.Reap{}, 0, 1)
	if horizon, err := k.Horizon(t.Context(), "orders.create"); err != nil || horizon.Month() != 6 {
		t.Errorf("lowered to %v, %v", horizon, err)
	}
}

// What must not be forgotten is passed, and nobody waits for what is locked.
func TestReapSpares(t *testing.T) {
	now := noon
	k := newKeeper(t, "pgx", at(&now))
	spared := map[string]string{
		"open":      ``,
		"disputed":  `disputed = true`,
		"newer":     `format = 2`,
		"misplaced": `key = 'elsewhere'`,
		"undated":   `remember_until = NULL`,
		"waited":    `state = state`,
	}
	for name, set := range spared {
		now = now.Add(time.Second)
		if set == "" {
			k.open(t, name)
			continue
		}
		rec := k.mustSettle(t, keeperCall(name))
		k.setup(t, `UPDATE {schema}.record SET `+set+` WHERE ref = $1`, packRef(rec.Ref))
		if name == "waited" { // for an operation that is not settled
			k.setup(t, `INSERT INTO {schema}.external (version, created, format, state, disputed, ref, action, step, provider, partition, data, input)
VALUES (1, 0, 1, 1, false, $1, $1, 's', 'p', '', '{}', '')`, packRef(rec.Ref))
		}
	}
	for i := range 5 {
		now = now.Add(time.Second)
		k.mustSettle(t, keeperCall(fmt.Sprint(i)))
	}
	k.reaps(t, upkeep.Reap{}, 0, 0)
	now = overdue(now)
	locked := claimOf(t, keeperCall("0"))
	tx, err := k.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec(k.sql.text(`SELECT 1 FROM {schema}.record WHERE hash = $1::text::uuid FOR UPDATE`), hashText(locked.Hash)); err != nil {
		t.Fatal(err)
	}
	k.reaps(t, upkeep.Reap{}, 0, 4)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	k.reaps(t, upkeep.Reap{}, 0, 0) // not before a minute
	now = now.Add(time.Minute)
	k.reaps(t, upkeep.Reap{}, 0, 1)
	same(t, "spared", k.number(t, `SELECT count(*) FROM {schema}.record`), int64(len(spared)))
	k.setup(t, `UPDATE {schema}.external SET final = 1, state = 4`)
	now = now.Add(time.Hour)
	k.reaps(t, upkeep.Reap{}, 0, 1)
}

// A record changed between the look and the lock is not the one that was decided
// about.
func TestReapChangedMeanwhile(t *testing.T) {
	now := noon
	k := newKeeper(t, "pgx", at(&now))
	rec := k.mustSettle(t, keeperCall("k"))
	now = overdue(now)
	other := k.sibling(t)
	err := k.write(t.Context(), func(ctx context.Context, tx runner) error {
		b := batch{store: k.Store, tx: tx, reap: upkeep.Reap{}.Bounded(now), done: upkeep.Reaped{Now: now}}
		rows, err := b.rows(ctx, &span{after: []byte{}, last: packRef(rec.Ref)})
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		longer := *rec
		longer.RememberUntil = now.Add(time.Hour)
		if _, err := other.Swap(t.Context(), *rec, longer); err != nil {
			t.Fatal(err)
		}
		n, err := b.forget(ctx, rows)
		same(t, "forgotten", n, 0)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := k.Find(t.Context(), rec.Ref); err != nil {
		t.Error(err)
	}
}

// What is trimmed keeps its version, its evidence and the transaction that wrote
// it.
func TestReapTrims(t *testing.T) {
	now := noon
	k := newKeeper(t, "native", at(&now))
	claim := claimOf(t, keeperCall("k"))
	rec := claim.Begin(now)
	rec.Settle(record.Result{Status: 201, Header: [][2]string{{"X", "y"}}, Body: []byte("body"), Effect: "/orders/1"}, now, claim.Policy)
	rec.Evidence = []record.Result{{Status: 500, Body: []byte("late")}}
	want, err := k.Swap(t.Context(), record.Record{}, *rec)
	if err != nil {
		t.Fatal(err)
	}
	xid := k.number(t, `SELECT xid::text::int8 FROM {schema}.record`)
	now = now.Add(time.Hour - time.Microsecond)
	k.reaps(t, upkeep.Reap{}, 0, 0)
	now = now.Add(time.Microsecond)
	k.reaps(t, upkeep.Reap{}, 1, 0)
	want.Result.Header, want.Result.Body, want.Result.Digest = nil, nil, record.Trimmed
	got, err := k.Find(t.Context(), want.Ref)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "trimmed", got, want)
	same(t, "transaction", k.number(t, `SELECT xid::text::int8 FROM {schema}.record`), xid)
	now = now.Add(time.Hour - time.Microsecond)
	k.reaps(t, upkeep.Reap{}, 0, 0)
	now = now.Add(time.Microsecond)
	k.reaps(t, upkeep.Reap{}, 0, 1)
}

// Spans are split by smaller batches, joined when nothing is left in them, and
// cover what comes into them late.
func TestReapSpans(t *testing.T) {
	now := noon
	k := newKeeper(t, "pgx", at(&now))
	for i := range 20 {
		now = now.Add(time.Second)
		k.mustSettle(t, keeperCall(fmt.Sprint(i)))
	}
	late := claimOf(t, keeperCall("late")).Begin(noon.Add(5 * time.Second)) // its transaction takes longer
	k.reaps(t, upkeep.Reap{}, 0, 0)
	same(t, "nothing is settled yet", len(k.tiled(t)), 0)
	now = now.Add(2 * upkeep.Settling)
	k.reaps(t, upkeep.Reap{Limit: 8}, 0, 0)
	same(t, "spans", len(k.tiled(t)), 3)
	late.Settle(record.Result{Body: []byte("late")}, now, claimOf(t, keeperCall("late")).Policy)
	if _, err := k.Swap(t.Context(), record.Record{}, *late); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour) // the end of every replay
	k.reaps(t, upkeep.Reap{Limit: 3}, 21, 0)
	now = overdue(now)
	done, err := k.Reap(t.Context(), upkeep.Reap{Limit: 5})
	if err != nil || done.Lag < time.Hour || !done.More {
		t.Errorf("%+v, %v", done, err)
	}
	k.reaps(t, upkeep.Reap{Limit: 5}, 0, 21-done.Forgotten)
	for len(k.tiled(t)) > 1 && now.Before(noon.AddDate(0, 0, 1)) {
		now = now.Add(time.Hour)
		k.reaps(t, upkeep.Reap{}, 0, 0)
	}
	spans := k.tiled(t)
	if len(spans) != 1 || spans[0].After != "" {
		t.Errorf("empty ones do not become one: %+v", spans)
	}
	// One that comes into it is seen within an hour, whatever is emptied behind it.
	late = claimOf(t, keeperCall("very late")).Begin(noon.Add(5 * time.Second))
	late.Settle(record.Result{}, noon, claimOf(t, keeperCall("very late")).Policy)
	if _, err := k.Swap(t.Context(), record.Record{}, *late); err != nil {
		t.Fatal(err)
	}
	for until := spans[0].Due; now.Before(until); now = now.Add(10 * time.Minute) {
		claim := claimOf(t, keeperCall(now.String()))
		rec := claim.Begin(now.Add(-2 * upkeep.Settling))
		rec.Settle(record.Result{}, now, record.Policy{})
		if _, err := k.Swap(t.Context(), record.Record{}, *rec); err != nil {
			t.Fatal(err)
		}
		k.reaps(t, upkeep.Reap{}, 0, 1)
		same(t, "spans", len(k.tiled(t)), 1)
	}
	k.reaps(t, upkeep.Reap{}, 0, 1)
}

// A clock that was set back makes nothing due that is not, and what it passed is
// looked at within the hour.
func TestReapClockSetBack(t *testing.T) {
	now := noon
	k := newKeeper(t, "pgx", at(&now))
	k.mustSettle(t, keeperCall("a"))
	now = now.Add(2 * upkeep.Settling)
	k.reaps(t, upkeep.Reap{}, 0, 0)
	before := k.tiled(t)[0].Due
	now = noon.Add(-10 * time.Hour)
	k.mustSettle(t, keeperCall("back"))
	now = now.Add(2 * upkeep.Settling)
	k.reaps(t, upkeep.Reap{}, 0, 0)
	if due := k.tiled(t)[0].Due; due.Equal(before) || due.After(now.Add(time.Hour)) {
		t.Errorf("due at %v, %v before; it is %v", due, before, now)
	}
	now = now.Add(time.Hour)
	k.reaps(t, upkeep.Reap{}, 1, 0) // of the one that was behind the survey
}

// While one reaper surveys no other does, and while one is at a span another takes
// the next that is free.
func TestReapBeside(t *testing.T) {
	now := noon
	k := newKeeper(t, "native", at(&now))
	for i := range 30 {
		now = now.Add(time.Second)
		k.mustSettle(t, keeperCall(fmt.Sprint(i)))
	}
	other := k.sibling(t)
	other.opts = k.opts
	var beside []upkeep.Reaped
	meanwhile := func(times int) func() {
		return func() {
			k.parked, beside = nil, nil
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // it must not wait for the other one
			defer cancel()
			for range times {
				done, err := other.Reap(ctx, upkeep.Reap{Limit: 10})
				if err != nil {
					t.Error(err)
				}
				beside = append(beside, done)
			}
		}
	}
	now = now.Add(time.Hour)
	k.parked = meanwhile(1)
	if done, err := k.Reap(t.Context(), upkeep.Reap{Limit: 10}); err != nil || done.Trimmed != 10 || !done.More {
		t.Errorf("%+v, %v", done, err)
	}
	if len(beside) != 1 || beside[0].Looked != 0 || beside[0].More {
		t.Errorf("beside a survey: %+v", beside)
	}
	k.reaps(t, upkeep.Reap{Limit: 10}, 20, 0)
	now = overdue(now)
	k.parked = meanwhile(3)
	if done, err := k.Reap(t.Context(), upkeep.Reap{Limit: 10}); err != nil || done.Forgotten != 10 {
		t.Errorf("%+v, %v", done, err)
	}
	if len(beside) != 3 || beside[0].Forgotten != 10 || beside[1].Forgotten != 10 || beside[2].Looked != 0 || beside[2].More {
		t.Errorf("beside a batch: %+v", beside)
	}
	k.reaps(t, upkeep.Reap{Limit: 10}, 0, 0)
}

// The archive is given what is about to be forgotten, in parts that fit into
// memory; after its error nothing is.
func TestReapArchives(t *testing.T) {
	now := noon
	k := newKeeper(t, "postgres", at(&now))
	var want []string
	body := make([]byte, archivePage/2)
	for i := range 3 {
		now = now.Add(time.Second)
		claim := claimOf(t, keeperCall(fmt.Sprint(i)))
		rec := claim.Begin(now)
		rec.Settle(record.Result{Body: body}, now, record.Policy{ReplayFor: time.Hour, RememberFor: time.Hour})
		if _, err := k.Swap(t.Context(), record.Record{}, *rec); err != nil {
			t.Fatal(err)
		}
		want = append(want, rec.Ref)
	}
	now = overdue(now)
	full := errors.New("no space left")
	_, err := k.Reap(t.Context(), upkeep.Reap{Archive: func(context.Context, []record.Record) error { return full }})
	if !errors.Is(err, full) || !errors.Is(err, errNotArchived) {
		t.Errorf("a full archive: %v", err)
	}
	same(t, "kept", k.number(t, `SELECT count(*) FROM {schema}.record`), int64(3))
	same(t, "spans", len(k.tiled(t)), 0)
	var got []string
	var parts []int
	k.reaps(t, upkeep.Reap{Archive: func(_ context.Context, forgotten []record.Record) error {
		parts = append(parts, len(forgotten))
		for _, rec := range forgotten {
			got = append(got, rec.Ref)
			same(t, "body", len(rec.Result.Body), len(body))
		}
		return nil
	}}, 0, 3)
	if !slices.Equal(got, want) || !slices.Equal(parts, []int{2, 1}) {
		t.Errorf("archived %v in %v, want %v", got, parts, want)
	}
}

// What ends after the given time is left alone.
func TestReapUntil(t *testing.T) {
	now := noon
	k := newKeeper(t, "pgx", at(&now))
	for i := range 4 {
		now = noon.Add(time.Duration(i) * time.Hour)
		k.mustSettle(t, keeperCall(fmt.Sprint(i)))
	}
	now = noon.AddDate(0, 0, 1)
	k.reaps(t, upkeep.Reap{Until: noon.Add(3 * time.Hour), Limit: 1}, 1, 2)
	k.reaps(t, upkeep.Reap{Until: now.AddDate(1, 0, 0)}, 0, 2)
}

func TestReapNested(t *testing.T) {
	s := newShop(t, Options{})
	err := s.run(keeperCall("k"), func(ctx context.Context, _ Tx) (refrain.Result, error) {
		_, err := s.Reap(ctx, upkeep.Reap{})
		return done, err
	})
	if !errors.Is(err, refrain.ErrNested) {
		t.Errorf("within an effect: %v", err)
	}
}
