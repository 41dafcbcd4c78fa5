package mysql

import (
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// useAll calls what an engine offers on migrated tables, each at least once. now
// is the engine's clock.
func useAll(t *testing.T, db *DB, s shop, now *time.Time) {
	t.Helper()
	try := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	ctx := t.Context()
	try("Register", db.Register(ctx, order("").Contract))
	shorter := order("").Contract
	shorter.RememberFor--
	try("RegisterShorter", db.RegisterShorter(ctx, shorter))
	out := mustBuy(t, db, order("k"))
	if again := mustBuy(t, db, order("k")); !again.Replayed {
		t.Error("no replay")
	}
	learnt := order("k")
	learnt.Contract.Operation = "orders.learnt"
	mustBuy(t, db, learnt)
	_, err := db.Execute(ctx, order("refused"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := buys("refused")(ctx, tx)
		return refrain.Result{Rejected: true}, err
	})
	try("a refusal", err)

	const timed = "01943000-0000-7000-8000-00000000000" // and a digit; of January 2025
	fence := upkeep.Fence{Scope: "tenant=north", Until: now.Add(-12 * time.Hour), Reason: "a test", By: "ops"}
	for range 2 {
		fence.ID, err = db.SetFence(ctx, fence)
		try("SetFence", err)
	}
	try("VoidFence", db.VoidFence(ctx, fence.ID, "ops", "one is enough"))
	fences, err := db.Fences(ctx)
	if err != nil || len(fences) != 1 {
		t.Fatalf("Fences: %+v, %v", fences, err)
	}
	try("EndFence", db.EndFence(ctx, fences[0].ID, "ops", "a test"))
	wantRow(t, errOf(db.Execute(ctx, order(timed+"1"), buys("late"))), "2", record.TooLate)
	id := identityOf(t, order(timed+"1"))
	try("an allow", db.Change(ctx, id, func(record.Seen, time.Time) (record.Edit, error) {
		return record.Edit{GrantAllow: "seen to", By: "ops", Action: "allow", Reason: "a test"}, nil
	}))
	mustBuy(t, db, order(timed+"1"))
	wantRow(t, errOf(db.Execute(ctx, order(timed+"2"), buys("late"))), "2", record.TooLate)
	reviews, err := db.Reviews(ctx, upkeep.ReviewQuery{Operation: "orders.create"})
	if err != nil || len(reviews) != 2 {
		t.Fatalf("Reviews: %+v, %v", reviews, err)
	}
	hash := identityOf(t, order(timed+"2")).Hash()
	try("Done", upkeep.Done(ctx, db, hex.EncodeToString(hash[:]), "/orders/2", "ops", "a test"))

	taken := func(what string, want error, once effect) {
		t.Helper()
		if err := run(db, "once "+what, once); !errors.Is(err, want) {
			t.Errorf("Once, %s: %v, want %v", what, err, want)
		}
	}
	takes := func(ctx context.Context, tx Tx) (refrain.Result, error) {
		return made, db.Once(ctx, tx, "coupon", "c'\xff")
	}
	taken("free", nil, takes)
	taken("taken", refrain.ErrTaken, takes)
	values, err := db.Onces(ctx, upkeep.OnceQuery{Rule: "coupon"})
	if err != nil || len(values) != 1 || values[0].Ref == "" || values[0].At.IsZero() {
		t.Errorf("Onces: %+v, %v", values, err)
	}
	try("RemoveOnce", db.RemoveOnce(ctx, "coupon", "c'\xff", "ops", "a test"))
	before, err := db.Incarnation(ctx)
	try("Incarnation", err)
	if after, err := db.Advance(ctx); err != nil || after.Counter != before.Counter+1 || after.Store != before.Store {
		t.Errorf("Advance: %+v, %v", after, err)
	}

	own := attempt(t, db, order("attempt"))
	*now = now.Add(time.Hour)
	_, _, err = db.Oldest(ctx, Query{})
	try("Oldest", err)
	_, _, err = db.Standing(ctx, own.Ref)
	try("Standing", err)
	try("Resolve", db.Change(ctx, own.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
		return record.Resolve(seen, now, record.Result{Status: 201}, order("").Contract.Policy(), "ops", "a test")
	}))
	lines, err := db.Audits(ctx, own.Ref)
	if err != nil || len(lines) != 1 {
		t.Errorf("Audits: %v, %v", lines, err)
	}
	rec, err := db.Find(ctx, out.Ref)
	try("Find", err)
	_, err = db.Swap(ctx, rec, rec)
	try("Swap", err)
	_, err = db.List(ctx, record.Record{}, 0)
	try("List", err)

	*now = now.Add(24 * time.Hour)
	mustBuy(t, db, order("k")) // takes over a record past its memory
	done, err := db.Reap(ctx, upkeep.Reap{Archive: func(context.Context, []record.Record) error { return nil }})
	if err != nil || done.Forgotten != 6 || done.Trimmed != 0 {
		t.Errorf("Reap: %+v, %v", done, err)
	}
	if spans, err := db.Spans(ctx); err != nil || len(spans) != 1 {
		t.Errorf("Spans: %+v, %v", spans, err)
	}
	walked, err := db.Walk(ctx, "", 0)
	if err != nil || len(walked.Records) != 1 {
		t.Errorf("Walk: %+v, %v", walked, err)
	}
	horizon, err := db.Horizon(ctx, "orders.create")
	if err != nil || horizon.IsZero() {
		t.Errorf("Horizon: %v, %v", horizon, err)
	}
	r := toEurope
	r.To = "orders.place"
	moved, err := db.Rekey(ctx, r)
	if err != nil || moved.Records != 1 || moved.Reviews != 1 || moved.Fences != 1 {
		t.Errorf("Rekey: %+v, %v", moved, err)
	}
	_, err = db.Contracts(ctx)
	try("Contracts", err)
	status, err := db.MigrationStatus(ctx)
	if err != nil || status.Check() != nil {
		t.Errorf("MigrationStatus: %+v, %v", status, err)
	}
	try("Migrate of what is migrated", db.Migrate(ctx))
	_, err = db.Doctor(ctx)
	try("Doctor", err)
}

func errOf(_ refrain.Outcome, err error) error { return err }

// A user who has these privileges and no others can do everything.
func TestLeastPrivileges(t *testing.T) {
	for name, open := range map[string]func(testing.TB, *driverlib.Config, Options) *DB{"Open": opened, "New": onForeign} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			user, as := account(t, s.cfg)
			for statement := range strings.SplitSeq(strings.TrimSpace(Privileges(user)), ";\n") {
				must(t, s.raw, strings.TrimSuffix(statement, ";"))
			}
			must(t, s.raw, "GRANT INSERT ON effects TO "+user)
			now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
			useAll(t, open(t, as, Options{Now: func() time.Time { return now }}), s, &now)
		})
	}
}

// The application's session is not always the server's default.
func TestOddSessions(t *testing.T) {
	levels := map[string]string{"loose": "'SERIALIZABLE'", "ANSI": "'REPEATABLE-READ'"}
	for name, params := range map[string]map[string]string{
		"loose": {"sql_mode": "''", "sql_safe_updates": "1",
			"character_set_client": "latin1", "character_set_connection": "latin1", "character_set_results": "latin1"},
		"ANSI": {"sql_mode": "'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,STRICT_ALL_TABLES'"},
	} {
		for kind, open := range map[string]func(testing.TB, *driverlib.Config, Options) *DB{"Open": opened, "New": onForeign} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := newShop(t)
				cfg := s.cfg.Clone()
				cfg.Params = maps.Clone(params)
				cfg.Params[isolation(t, s.raw)] = levels[name]
				cfg.ClientFoundRows = kind == "New"
				now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
				useAll(t, open(t, cfg, Options{Now: func() time.Time { return now }}), s, &now)
			})
		}
	}
}

// New refuses a handle on which a promise cannot be kept, and says what to do.
func TestNewRefuses(t *testing.T) {
	s := newShop(t)
	for setting, params := range map[string]map[string]string{
		"autocommit":            {"autocommit": "0"},
		"transaction_isolation": {isolation(t, s.raw): "'READ-UNCOMMITTED'"},
		"completion_type":       {"completion_type": "'CHAIN'"},
	} {
		cfg := s.cfg.Clone()
		cfg.Params = params
		if _, err := New(poolOf(t, cfg)); err == nil || !strings.Contains(err.Error(), setting) {
			t.Errorf("%s: %v", setting, err)
		}
	}
	chaining := s.cfg.Clone()
	chaining.Params = map[string]string{"completion_type": "'CHAIN'", "autocommit": "0", isolation(t, s.raw): "'READ-UNCOMMITTED'"}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	useAll(t, opened(t, chaining, Options{Now: func() time.Time { return now }}), s, &now) // Open makes the session ours
	must(t, s.raw, `ALTER TABLE refrain_record ENGINE=MyISAM`)
	if _, err := New(s.raw); err == nil || !strings.Contains(err.Error(), "InnoDB") {
		t.Errorf("MyISAM: %v", err)
	}
}
