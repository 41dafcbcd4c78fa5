package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// restored is a database as the version before this one wrote it, not migrated.
func restored(t testing.TB, dump string, options Options) *DB {
	t.Helper()
	text, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "old.db")
	db := open(t, path, options)
	if _, err := plain(t, path, "busy_timeout(5000)").Exec(string(text)); err != nil {
		t.Fatal(err)
	}
	return db
}

// A database of the first format opens, is migrated and means what it meant.
func TestFormat1(t *testing.T) {
	clock := new(handClock)
	clock.set(formatClock)
	db := restored(t, "testdata/format1.sql", Options{Now: clock.now})
	status, err := db.MigrationStatus(t.Context())
	if err != nil || status.Version != 2 || !errors.Is(status.Check(), refrain.ErrNotMigrated) {
		t.Fatalf("%+v, %v", status, err)
	}
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Register(t.Context(), contract, charge); err != nil {
		t.Error(err)
	}
	walked, err := db.Walk(t.Context(), "", 0)
	if err != nil || len(walked.Records) != 10 || len(walked.Unreadable) != 0 {
		t.Errorf("%d records, unreadable %v, %v", len(walked.Records), walked.Unreadable, err)
	}
	wantStanding(t, db)
	before := items(t, db)

	for name, k := range formatCalls() {
		if name == "allowed" {
			continue // below
		}
		k.call.Wait = -1
		runs := 0
		effect := counted(&runs, put("again"))
		out, err := db.Execute(t.Context(), k.call, effect)
		if k.row != "" {
			wantRow(t, err, k.row, k.problem)
		} else if err != nil || !out.Replayed || out.Actor != k.call.Actor {
			t.Errorf("%s: %+v, %v; want a replay", name, out, err)
		} else {
			equal(t, name, out.Result, k.result)
		}
		if k.row != "2" {
			other := k.call
			other.Input = []byte("coffee")
			wantRow(t, run(db, other, effect), "4", refrain.ErrKeyReused)
		}
		if runs != 0 {
			t.Errorf("%s: its effect ran again", name)
		}
	}
	equal(t, "orders", items(t, db), before)

	elsewhere := formatCalls()["confirmed"].call
	elsewhere.Scope = refrain.Tenant("west")
	allowed := formatCalls()["allowed"]
	for _, c := range []refrain.Call{elsewhere, allowed.call} {
		runs := 0
		for range 2 {
			if err := run(db, c, counted(&runs, put("fresh"))); err != nil {
				t.Error(err)
			}
		}
		equal(t, "runs", runs, 1)
	}
	clock.pass(3 * time.Hour)
	reap(t, db, upkeep.Reap{}, 12, 0, 7, 4)
	wantRow(t, run(db, formatCalls()["confirmed"].call, put("again")), "2", refrain.ErrTooLate)
	clock.pass(1000 * time.Hour)
	reap(t, db, upkeep.Reap{}, 5, 0, 1, 4)
}

// wantStanding checks what the file has beside records.
func wantStanding(t *testing.T, db *DB) {
	t.Helper()
	ctx := t.Context()
	fences, err := db.Fences(ctx)
	fence := upkeep.Fence{ID: 1, Operation: "orders.create", Scope: "tenant=east", Until: formatClock.Add(-time.Hour),
		Since: formatClock.Add(-2 * time.Hour), Reason: "restored", By: "ops", At: formatClock}
	if err != nil || len(fences) != 1 || fences[0] != fence {
		t.Errorf("fences %+v, %v", fences, err)
	}
	reviews, err := db.Reviews(ctx, upkeep.ReviewQuery{})
	refused, claimErr := formatCalls()["review"].call.Claim()
	if err = errors.Join(err, claimErr); err != nil {
		t.Fatal(err)
	}
	equal(t, "reviews", reviews, []upkeep.Review{{Identity: refused.Identity, Print: refused.Request.Print, First: formatClock, Last: formatClock, Count: 1}})
	seen, _, err := db.Load(ctx, record.Identity{Scope: "tenant=north", Operation: "payments.charge", Key: "accepted"})
	if err != nil || seen.Record == nil {
		t.Fatal(err)
	}
	steps, err := db.Operations().Of(ctx, seen.Record.Ref)
	if err != nil || len(steps) != 1 || steps[0].Step != "accepted" || steps[0].State != record.Accepted {
		t.Errorf("steps %+v, %v", steps, err)
	}
	is, err := db.Incarnation(ctx)
	equal(t, "incarnation", is, upkeep.Incarnation{Store: "2667f9e48baa9c41845302c47abe7b7e", Epoch: 1, At: formatClock.Local()})
	lines, auditErr := db.Audits(ctx, "")
	ops, opsErr := db.Operations().List(ctx, operation.Operation{}, 0)
	if err := errors.Join(err, auditErr, opsErr); err != nil || len(lines) != 4 || len(ops) != 1 {
		t.Errorf("%d lines of audit, %d operations, %v", len(lines), len(ops), err)
	}
}

// What the version before this one says to its database.
const (
	oldInsert = `INSERT INTO refrain_record (hash, ref, version, format, state, disputed, scope, operation, key, actor,
 raw, deciding, rule, schema, created, final, replay_until, remember_until, attempt, fence, lease, evidence, status, effect, digest, header, body)
VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	oldRead = `SELECT r.version, r.format, r.state, r.replay_until, r.remember_until, r.effect, r.digest, r.header, r.body
 FROM refrain_record r WHERE r.hash = ?`
	oldForget  = `DELETE FROM refrain_record WHERE n IN (SELECT n FROM refrain_record WHERE remember_until <= ? AND state IN (4, 5) AND NOT disputed AND format <= 1)`
	oldHorizon = `UPDATE refrain_operation SET horizon = max(coalesce(horizon, ?1), ?1) WHERE operation = ?2`
)

// While a new version is rolled out, processes of the old one write the same file.
func TestFormat1Beside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	clock := new(handClock)
	clock.set(formatClock)
	db := openAt(t, path, Options{Now: clock.now})
	if err := db.Register(t.Context(), contract); err != nil {
		t.Fatal(err)
	}
	old := plain(t, path, "busy_timeout(5000)")
	oldWrites := func(c refrain.Call, body string) (record.Record, error) {
		claim, err := c.Claim()
		if err != nil {
			t.Fatal(err)
		}
		rec := claim.Begin(clock.now())
		rec.Settle(refrain.Result{Status: 201, Body: []byte(body), Effect: "/orders/1"}, rec.Created, claim.Policy)
		_, err = old.Exec(oldInsert, claim.Hash[:], rec.Ref, 1, 1, 4, false, rec.Identity.Scope, rec.Identity.Operation, []byte(rec.Identity.Key), "",
			rec.Print.Raw[:], rec.Print.Deciding[:], rec.Print.Rule, rec.Print.Schema, rec.Created.UnixMicro(), rec.Final.UnixMicro(),
			rec.ReplayUntil.UnixMicro(), rec.RememberUntil.UnixMicro(), 1, rec.Fence, nil, nil, 201, "/orders/1", nil, nil, []byte(body))
		return *rec, err
	}
	runs := 0
	effect := counted(&runs, put("again"))

	theirs, ours := call(uuid7(clock.now(), 1)), call(uuid7(clock.now(), 2))
	if _, err := oldWrites(theirs, "theirs"); err != nil {
		t.Fatal(err)
	}
	if out, err := db.Execute(t.Context(), theirs, effect); err != nil || !out.Replayed || string(out.Body) != "theirs" {
		t.Errorf("theirs: %+v, %v", out, err)
	}
	mine, err := db.Execute(t.Context(), ours, put("ours"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := oldWrites(ours, "theirs"); err == nil {
		t.Error("the old version has recorded our action a second time")
	}

	// What our reaper trims is a tombstone to them.
	clock.set(mine.ReplayUntil)
	reap(t, db, upkeep.Reap{}, 2, 2, 0, 0)
	hash := refrain.Identity{Scope: ours.Scope.String(), Operation: ours.Contract.Operation, Key: ours.Key}.Hash()
	var version, format, state, replayUntil, rememberUntil int64
	var effectRef string
	var digest, header, body []byte
	err = old.QueryRow(oldRead, hash[:]).Scan(&version, &format, &state, &replayUntil, &rememberUntil, &effectRef, &digest, &header, &body)
	if err != nil || version != 1 || format != 1 || state != 4 || len(digest) == 0 || header != nil || body != nil || rememberUntil != mine.RememberUntil.UnixMicro() {
		t.Errorf("the old version reads version %d, format %d, state %d, digest %x, header %q, body %q, %v", version, format, state, digest, header, body, err)
	}

	// What they write among what it has seen, it sees; what they forget, it does not miss.
	if _, err := oldWrites(call("late"), "late"); err != nil {
		t.Fatal(err)
	}
	clock.set(mine.RememberUntil)
	tx, err := old.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, horizonErr := tx.Exec(oldHorizon, formatClock.Truncate(time.Millisecond).UnixMicro(), contract.Operation)
	_, forgetErr := tx.Exec(oldForget, clock.now().UnixMicro())
	if err := errors.Join(horizonErr, forgetErr, tx.Commit()); err != nil {
		t.Fatal(err)
	}
	clock.pass(2 * time.Minute)
	reap(t, db, upkeep.Reap{}, 1, 1, 0, 0)
	clock.pass(contract.RememberFor)
	reap(t, db, upkeep.Reap{}, 1, 0, 1, 0)
	for _, c := range []refrain.Call{theirs, ours} {
		wantRow(t, run(db, c, effect), "2", refrain.ErrTooLate)
	}
	equal(t, "runs", runs, 0)
}
