package mysql

import (
	"bytes"
	_ "embed"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

//go:embed testdata/format1.sql
var format1 string

// formatted is a database of format 1, as its version left it at a time of which
// the clock is a minute ahead.
func formatted(t *testing.T) *aged {
	t.Helper()
	cfg := database(t)
	a := &aged{shop: shop{cfg, poolOf(t, cfg)}, now: time.Date(2026, 1, 15, 12, 1, 20, 0, time.UTC)}
	conn := mustConn(t, a.raw)
	for _, m := range migrations()[:2] {
		if err := m.apply(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
	}
	must(t, a.raw, splitSQL(format1)...)
	must(t, a.raw, `CREATE TABLE effects (id VARBINARY(200) NOT NULL) ENGINE=InnoDB`)
	opts := Options{Now: func() time.Time { return a.now }}
	a.db, a.another = opened(t, cfg, opts), onForeign(t, cfg, opts)
	return a
}

// migrated brings it to this version.
func (a *aged) migrated(t *testing.T) *aged {
	t.Helper()
	if err := a.db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

// stored is the call that a record of the fixture remembers.
func stored(key string) refrain.Call {
	if len(key) == 2 {
		key = "019bc185-f3a0-7000-8000-0000000000" + key
	}
	return refrain.Call{
		Contract: refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: 720 * time.Hour, RememberFor: 2160 * time.Hour,
			MaxResponse: 1024, KeepDigest: true, Wait: -1},
		Scope: refrain.Tenant("north").Subject("ada"), Key: key, Input: []byte("input of " + key), Actor: "clerk 7",
	}
}

const untimedKey = "un'timed \xff\\ key"

// A database of the previous format opens, answers as it did, verifies, and ends as
// any other.
func TestFormat1(t *testing.T) {
	a := formatted(t).migrated(t)
	if status, err := a.db.MigrationStatus(t.Context()); err != nil || status.Check() != nil {
		t.Fatalf("%+v, %v", status, err)
	}
	var every []byte
	for i := range 256 {
		every = append(every, byte(i))
	}
	for key, want := range map[string]refrain.Result{
		"01":       {Status: 201, Header: [][2]string{{"Location", "/orders/1"}, {"X-Part", "a"}, {"X-Part", "b"}}, Body: every, Effect: "/orders/1"},
		"02":       {Status: 422, Body: []byte(`{"title":"out of stock"}`), Rejected: true},
		"09":       {Status: 200, Body: []byte("charged"), Effect: "/charges/9"},
		untimedKey: {Status: 201, Body: []byte("untimed"), Effect: "/orders/4"},
	} {
		for _, db := range []*DB{a.db, a.another} {
			out, err := db.Execute(t.Context(), stored(key), buys(key))
			if err != nil || !out.Replayed || out.Status != want.Status || !slices.Equal(out.Header, want.Header) || !bytes.Equal(out.Body, want.Body) ||
				out.Effect != want.Effect || out.Rejected != want.Rejected || out.Actor != "clerk 7" {
				t.Errorf("%q: %+v, %v; want %+v", key, out, err, want)
			}
		}
		other := stored(key)
		other.Input = []byte("another")
		wantRow(t, errOf(a.db.Execute(t.Context(), other, buys(key))), "4", refrain.ErrKeyReused)
	}
	for key, want := range map[string]string{"03": "5", "06": "7", "07": "7", "08": "7", "0a": "6"} {
		var refusal *refrain.Error
		if _, err := a.db.Execute(t.Context(), stored(key), buys(key)); !errors.As(err, &refusal) || refusal.Row != want {
			t.Errorf("%s: %v, want row %s", key, err, want)
		}
	}
	// What stands beside: a fence with its review, an allow.
	south := stored("019bb000-0000-7000-8000-00000000000b")
	south.Scope = refrain.Tenant("south")
	wantRow(t, errOf(a.db.Execute(t.Context(), south, buys("x"))), "2", refrain.ErrTooLate)
	reviews, err := a.db.Reviews(t.Context(), upkeep.ReviewQuery{})
	if err != nil || len(reviews) != 1 || reviews[0].Identity != identityOf(t, south) || reviews[0].Count != 2 {
		t.Errorf("%+v, %v", reviews, err)
	}
	south.Key = "019bb000-0000-7000-8000-00000000000c"
	mustBuy(t, a.db, south)
	if fences, err := a.db.Fences(t.Context()); err != nil || len(fences) != 1 || !fences[0].Covers(identityOf(t, south)) {
		t.Errorf("%+v, %v", fences, err)
	}
	a.wants(t, south.Key)
	a.sound(t, 11)
	a.ends(t)
}

// sound verifies a database of so many records.
func (a *aged) sound(t *testing.T, records int) {
	t.Helper()
	found, err := upkeep.Verify{Store: a.db}.Run(t.Context())
	if err != nil || !found.OK() || found.Records != records {
		t.Errorf("verified %+v, %v; want %d records", found, err, records)
	}
}

// ends reaps the fixture's records: what was not settled stays.
func (a *aged) ends(t *testing.T) {
	t.Helper()
	reaper := upkeep.Reaper{Store: a.db, Rest: -1}
	a.now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if done, err := reaper.Once(t.Context()); err != nil || done.Trimmed != 4 || done.Forgotten != 2 || done.Unfinished != 4 {
		t.Errorf("%+v, %v", done, err)
	}
	wantRow(t, errOf(a.db.Execute(t.Context(), stored("01"), buys("01"))), "5", refrain.ErrResultGone)
	a.now = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	if done, err := reaper.Once(t.Context()); err != nil || done.Forgotten != 5 || done.Unfinished == 0 {
		t.Errorf("%+v, %v", done, err)
	}
	a.receipts(t, 4)
	wantRow(t, errOf(a.db.Execute(t.Context(), stored("01"), buys("01"))), "2", refrain.ErrTooLate)
	wantRow(t, errOf(a.db.Execute(t.Context(), stored("06"), buys("06"))), "7", refrain.ErrOutcomeUnknown)
	a.sound(t, 4)
}

// insertOfFormat1 is how the previous version writes a record: a statement of its
// binary, whose processes may still run on a database that was migrated.
const insertOfFormat1 = "INSERT INTO refrain_record (hash, ref, version, format, state, disputed, scope, operation, `key`, actor," +
	" raw, deciding, rule, `schema`, created, final, replay_until, remember_until, attempt, fence, lease, evidence, status, effect, digest, header, body)\n" +
	"VALUES (IF(@@SESSION.unique_checks AND (? IS NULL OR EXISTS (SELECT 1 FROM refrain_operation WHERE operation = ? AND identity = ? LOCK IN SHARE MODE)), ?, NULL)," +
	"?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"

// lookupOfFormat1 is how it looks for one.
const lookupOfFormat1 = `SELECT o.identity, o.horizon, a.hash IS NOT NULL,
 (SELECT max(until) FROM refrain_fence WHERE operation IN (X'', ?) AND scope IN (X'', ?)), r.ref, r.version, r.format, r.state, r.replay_until, r.remember_until, r.digest, r.body
FROM (SELECT 1 AS one) AS this
LEFT JOIN refrain_operation o ON o.operation = ?
LEFT JOIN refrain_allow a ON a.hash = ? AND a.scope = ? AND a.operation = ? AND a.` + "`key`" + ` = ?
LEFT JOIN refrain_record r ON r.hash = ? LIMIT 1`

// The previous version and this one on one database: each finds what the other
// wrote, the unique key decides between them, and scopes stay apart.
func TestFormat1SideBySide(t *testing.T) {
	a := formatted(t).migrated(t)
	old := func(q runner, call refrain.Call) error {
		claim, err := call.Claim()
		if err != nil {
			t.Fatal(err)
		}
		rec := claim.Begin(a.now)
		rec.Settle(record.Result{Status: 201, Body: []byte("of the old")}, a.now, claim.Policy)
		args := oldArgs(rec, claim)
		_, err = inlined{q}.ExecContext(t.Context(), insertOfFormat1, args...)
		return err
	}
	east := stored("0d")
	east.Scope = refrain.Tenant("east").Subject("ada")
	if err := old(a.raw, stored("0d")); err != nil {
		t.Fatal(err)
	}
	if out, err := a.db.Execute(t.Context(), stored("0d"), buys("twice")); err != nil || !out.Replayed || string(out.Body) != "of the old" {
		t.Errorf("%+v, %v", out, err)
	}
	mustBuy(t, a.db, east) // one key in two scopes
	if err := old(a.raw, east); number(err) != errDuplicate {
		t.Errorf("the old one over the new one: %v", err)
	}
	// Both at once: the old one has written and not committed.
	tx, err := a.raw.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := old(tx, stored("0e")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.db.Execute(t.Context(), stored("0e"), buys("twice")); !errors.Is(err, refrain.ErrInProgress) {
		t.Errorf("while the old one writes: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if out := mustBuy(t, a.db, stored("0e")); !out.Replayed {
		t.Error("executed beside the old one")
	}
	a.wants(t, east.Key)
	// What this version has trimmed and forgotten the old one reads so.
	reaper := upkeep.Reaper{Store: a.db, Rest: -1}
	look := func(call refrain.Call) anyRow {
		id := identityOf(t, call)
		hash := id.Hash()
		r, err := scanAny(inlined{a.raw}.QueryRowContext(t.Context(), lookupOfFormat1, []byte(id.Operation), []byte(id.Scope), []byte(id.Operation),
			hash[:], []byte(id.Scope), []byte(id.Operation), []byte(id.Key), hash[:]), 12)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a.now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if _, err := reaper.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := look(stored("0d")); r.integer(6) != 1 || r.integer(7) != int64(record.Confirmed) || len(r.blob(10)) == 0 || !r.null(11) {
		t.Errorf("a tombstone: %+v", r)
	}
	a.now = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	if _, err := reaper.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	born, _ := record.ByShape.Birth(stored("0e").Key)
	if r := look(stored("0e")); !r.null(4) || r.instant(1).Before(born) {
		t.Errorf("forgotten: %+v", r)
	}
}

// oldArgs are those of insertOfFormat1.
func oldArgs(rec *record.Record, claim *record.Claim) []any {
	version := []byte(claim.IdentityVersion)
	return []any{version, []byte(rec.Identity.Operation), version, claim.Hash[:],
		encodeRef(rec.Ref), rec.Version, 1, int64(rec.State), false,
		[]byte(rec.Identity.Scope), []byte(rec.Identity.Operation), []byte(rec.Identity.Key), []byte(rec.Actor),
		rec.Print.Raw[:], rec.Print.Deciding[:], []byte(rec.Print.Rule), []byte(rec.Print.Schema),
		micros(rec.Created), micros(rec.Final), micros(rec.ReplayUntil), micros(rec.RememberUntil),
		1, rec.Fence, nil, nil, int64(rec.Result.Status), []byte{}, nil, nil, rec.Result.Body}
}

// A process that was started before the migration, and one of the previous version
// that starts after it, find the tables they look for.
func TestFormat1TablesStay(t *testing.T) {
	before := formatted(t)
	had := columnsOf(t, before)
	before.migrated(t)
	has := columnsOf(t, before)
	for _, c := range had {
		if !slices.Contains(has, c) {
			t.Errorf("the migration took %s", c)
		}
	}
}

func columnsOf(t *testing.T, a *aged) []string {
	t.Helper()
	return column(t, a.raw, `SELECT CONCAT(table_name, '.', column_name, ' ', column_type, ' ', is_nullable) FROM information_schema.columns
		WHERE table_schema = DATABASE() ORDER BY 1`)
}
