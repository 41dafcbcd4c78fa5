package postgres

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

//go:embed testdata/format1.sql
var format1 string

// format1At is the clock when it was dumped.
var format1At = time.Date(2026, time.November, 4, 0, 0, 27, 0, time.UTC)

// The contracts of the calls in it.
var (
	format1Orders  = refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: 24 * time.Hour, RememberFor: 720 * time.Hour}
	format1Reports = refrain.Contract{Operation: "reports.create", Schema: "1", ReplayFor: 24 * time.Hour, RememberFor: 720 * time.Hour, MaxResponse: 8, KeepDigest: true}
	format1Items   = refrain.Contract{Operation: "items.put", Schema: "2", ReplayFor: time.Hour, RememberFor: 48 * time.Hour, KeyTime: refrain.KeyTimeNone}
)

func format1Call(c refrain.Contract, key, input string) refrain.Call {
	return refrain.Call{Contract: c, Scope: refrain.Tenant("north").Subject("ann"), Key: key, Input: []byte(input), Actor: "ann"}
}

// uuidAt is a UUIDv7 of that millisecond.
func uuidAt(born time.Time, n int) string {
	ms := born.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n)
}

// restored is a database of the previous version.
func restored(t testing.TB, driver string, now *time.Time) *keeper {
	t.Helper()
	k := emptyKeeper(t, driver, at(now))
	for _, m := range migrations()[:2] {
		for _, statement := range splitSQL(m.sql) {
			k.setup(t, statement)
		}
	}
	for _, statement := range splitSQL(format1) {
		k.setup(t, statement)
	}
	return k
}

// What the previous version wrote is opened, replayed, refused and reaped by this
// one.
func TestFormat1(t *testing.T) {
	now := format1At
	k := restored(t, "native", &now)
	if status, err := k.MigrationStatus(t.Context()); err != nil || status.Version != 2 {
		t.Fatalf("restored: %+v, %v", status, err)
	}
	for range 2 {
		if err := k.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if status, err := k.MigrationStatus(t.Context()); err != nil || status.Check() != nil {
		t.Errorf("migrated: %+v, %v", status, err)
	}
	for _, c := range []string{"schema", "tables", "privileges"} {
		if check := checkOf(t, k, c); !check.OK {
			t.Errorf("%+v", check)
		}
	}
	if err := k.Register(t.Context(), format1Orders, format1Reports, format1Items); err != nil {
		t.Error(err)
	}
	s := openShop(t, keeperURL(t), k.opts)
	s.raw = rawPool(t, keeperURL(t))
	s.sql0(t, `CREATE TABLE {schema}.orders (item text NOT NULL)`)

	tea := format1Call(format1Orders, "01a1a3db-0ba0-7000-8000-000000000002", `{"sku":"tea"}`)
	replays := map[*refrain.Call]refrain.Result{
		&tea: {Status: 201, Header: [][2]string{{"Content-Type", "application/json"}, {"Link", "</a>"}, {"Link", "</b>"}}, Body: []byte("{\"order\":1}\x00\xff"), Effect: "/orders/1"},
	}
	add := func(c refrain.Call, r refrain.Result) { replays[&c] = r }
	add(format1Call(format1Orders, "01a1a3db-1370-7000-8000-000000000003", `{"sku":"no"}`), refrain.Result{Status: 422, Body: []byte("sold out"), Rejected: true})
	add(format1Call(format1Items, "item-7", `{"name":"cup"}`), refrain.Result{Body: []byte(`"stored"`)})
	add(format1Call(format1Orders, "untimed", `{"sku":"jam"}`), refrain.Result{Status: 201, Body: []byte("jam")})
	for call, want := range replays {
		out, err := s.Execute(t.Context(), *call, s.put("again"))
		if err != nil || !out.Replayed {
			t.Errorf("%s: %+v, %v", call.Key, out, err)
		}
		same(t, call.Key, out.Result, want)
		call.Input = []byte("another")
		wantRow(t, s.run(*call, s.put("again")), "4", refrain.ErrKeyReused)
	}
	wantRow(t, s.run(format1Call(format1Reports, "01a1a3db-1f28-7000-8000-000000000004", `{"year":2025}`), s.put("again")), "5", refrain.ErrResultGone)
	wantRow(t, s.run(format1Call(format1Orders, "unknown", "x"), s.put("again")), "7", refrain.ErrOutcomeUnknown)
	wantRow(t, s.run(format1Call(format1Orders, "disputed", "x"), s.put("again")), "7", refrain.ErrOutcomeDisputed)
	impatient := format1Orders
	impatient.Wait = -1
	wantRow(t, s.run(format1Call(impatient, "submitted", "x"), s.put("again")), "6", refrain.ErrInProgress)
	wantRow(t, s.run(format1Call(impatient, "01a1a3db-59c0-7000-8000-000000000007", "pay"), s.put("again")), "6", refrain.ErrInProgress)
	horizon, err := k.Horizon(t.Context(), "orders.create")
	if err != nil || horizon.IsZero() {
		t.Errorf("horizon %v, %v", horizon, err)
	}
	wantRow(t, s.run(format1Call(format1Orders, uuidAt(horizon, 1), "forgotten"), s.put("again")), "2", refrain.ErrTooLate)
	lost := format1Call(format1Orders, "01a1a3a4-57b8-7000-8000-000000000005", "lost")
	lost.Scope = refrain.Tenant("south")
	wantRow(t, s.run(lost, s.put("again")), "2", refrain.ErrTooLate)
	allowed := lost
	allowed.Key = "01a1a3a4-6758-7000-8000-000000000006"
	if err := s.run(allowed, s.put("allowed")); err != nil {
		t.Error(err)
	}
	s.wantItems(t, "allowed")

	fences, err := k.Fences(t.Context())
	if err != nil || len(fences) != 1 || fences[0].Scope != "tenant=south" || fences[0].Reason != "restored" || fences[0].Until.Sub(fences[0].Since) != time.Hour || !fences[0].Ended.IsZero() {
		t.Errorf("fences %+v, %v", fences, err)
	}
	reviews, err := k.Reviews(t.Context(), upkeep.ReviewQuery{Scope: "tenant=south"})
	if err != nil || len(reviews) != 1 || reviews[0].Identity.Key != lost.Key || reviews[0].Count != 2 {
		t.Errorf("reviews %+v, %v", reviews, err)
	}
	if audits, err := k.Audits(t.Context(), ""); err != nil || len(audits) == 0 || audits[0].Action != "allow" {
		t.Errorf("audits %+v, %v", audits, err)
	}
	walked, err := k.Walk(t.Context(), "", 100)
	if err != nil || len(walked.Records) != 10 || walked.Unreadable != nil || walked.Next != "" {
		t.Errorf("%d records, %v, %q, %v", len(walked.Records), walked.Unreadable, walked.Next, err)
	}
	if all, err := s.Operations().List(t.Context(), operation.Operation{}, 0); err != nil || len(all) != 1 || string(s.stored(t, all[0].Ref).Input) != "input" {
		t.Errorf("operations %+v, %v", all, err)
	}
	verified(t, upkeep.Verify{Store: s.DB})
	now = now.AddDate(0, 2, 0)
	k.reaps(t, upkeep.Reap{}, 0, 6)
	verified(t, upkeep.Verify{Store: s.DB})
	walked, err = k.Walk(t.Context(), "", 100)
	if err != nil || len(walked.Records) != 4 {
		t.Errorf("%d records are left, %v", len(walked.Records), err)
	}
	wantRow(t, s.run(tea, s.put("again")), "2", refrain.ErrTooLate)
	s.wantItems(t, "allowed")
}

// previous is an engine of the previous version: its texts on the tables.
type previous struct{ *keeper }

func (k *keeper) previous(t testing.TB) previous {
	p := keeperOn(t, "pgx", keeperURL(t), k.opts)
	t.Cleanup(func() { p.db.Close() })
	p.sql.lookup = p.sql.text(fmt.Sprintf(previousLookup, salt(k.opts.Schema)))
	p.sql.insert[0] = p.sql.text(previousInsert)
	return previous{p}
}

// forget is its reaper.
func (p previous) forget(t testing.TB, limit int) (n int64, err error) {
	tx, err := p.db.BeginTx(t.Context(), nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	run := through{tx}
	if _, err := run.exec(t.Context(), p.sql.text(`LOCK TABLE {schema}.record IN ROW EXCLUSIVE MODE`)); err != nil {
		return 0, err
	}
	var hashes []string
	var latest time.Time
	err = each(t.Context(), run, func(row scanner) error {
		var ref, hash, key []byte
		var id record.Identity
		err := row.Scan(&ref, &hash, &id.Scope, &id.Operation, &key)
		id.Key = string(key)
		if born, _ := record.ByShape.Birth(id.Key); born.After(latest) {
			latest = born
		}
		hashes = append(hashes, hashText(id.Hash()))
		return err
	}, p.sql.text(previousOverdue), p.time(0).UnixMicro(), int64(record.Confirmed), int64(record.Rejected), int64(1), []byte{}, int64(limit))
	if err != nil || len(hashes) == 0 {
		return 0, err
	}
	if _, err := run.exec(t.Context(), p.sql.text(`UPDATE {schema}.operation SET horizon = greatest(horizon, $2::int8) WHERE operation = $1::text`), "orders.create", latest.UnixMicro()); err != nil {
		return 0, err
	}
	n, err = run.exec(t.Context(), p.sql.text(`DELETE FROM {schema}.record WHERE hash = ANY (CAST($1::text AS uuid[]))`), arrayText(hashes))
	return n, errors.Join(err, tx.Commit())
}

// Both versions at once on one schema: one effect per key, and what one of them
// has forgotten the other refuses.
func TestFormat1BesidePrevious(t *testing.T) {
	now := format1At
	k := restored(t, "pgx", &now)
	old := k.previous(t)
	if err := k.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.setup(t, `CREATE TABLE {schema}.effects (key text NOT NULL)`)
	call := func(n int) refrain.Call {
		return keeperCall(uuidAt(format1At.Add(time.Duration(n)*time.Millisecond), n))
	}
	const rounds = 40
	execute := func(k *keeper, n int) error {
		_, err := k.settle(claimOf(t, call(n)), func(tx runner) {
			if _, err := tx.exec(t.Context(), k.sql.text(`INSERT INTO {schema}.effects (key) VALUES ($1::text)`), call(n).Key); err != nil {
				t.Error(err)
			}
		})
		var refusal *record.Error
		if err != nil && !errors.Is(err, record.ErrHeld) && !errors.As(err, &refusal) {
			t.Errorf("round %d: %v", n, err)
		}
		return err
	}
	for n := range rounds {
		other := make(chan error, 1)
		go func() { other <- execute(old.keeper, n) }()
		mine := execute(k, n)
		if theirs := <-other; (mine == nil) == (theirs == nil) {
			t.Errorf("round %d: %v and %v", n, mine, theirs)
		}
	}
	same(t, "effects", k.number(t, `SELECT count(*) FROM {schema}.effects`), int64(rounds))

	now = overdue(now)
	forgotten := make(chan int64, 1)
	go func() {
		var sum int64
		for {
			n, err := old.forget(t, 3)
			if err != nil {
				t.Error(err)
			}
			if sum += n; n == 0 {
				forgotten <- sum
				return
			}
		}
	}()
	mine := 0
	for more := true; more; {
		done, err := k.Reap(t.Context(), upkeep.Reap{Limit: 4})
		if err != nil {
			t.Error(err)
			break
		}
		mine, more = mine+done.Forgotten, done.More
	}
	theirs := <-forgotten
	now = now.Add(time.Minute)
	k.reaps(t, upkeep.Reap{}, 0, rounds-mine-int(theirs))
	for n := range rounds {
		for name, k := range map[string]*keeper{"this": k, "the previous": old.keeper} {
			if err := execute(k, n); !errors.Is(err, refrain.ErrTooLate) {
				t.Errorf("%s version, a late retry: %v", name, err)
			}
		}
	}
	same(t, "effects", k.number(t, `SELECT count(*) FROM {schema}.effects`), int64(rounds))
	k.tiled(t)
}

// The texts of the previous version.
const (
	previousLookup = `SELECT timestamptz_send(clock_timestamp()) || timestamptz_send(transaction_timestamp()) || timestamptz_send(pg_postmaster_start_time())
 || xid8send(pg_snapshot_xmin(pg_current_snapshot()))
 || boolsend(current_setting('synchronous_standby_names') <> '') || boolsend(current_setting('statement_timeout') <> '0')
 || boolsend(current_setting('transaction_isolation') <> 'read committed') || boolsend(pg_try_advisory_xact_lock($5::int8 # %d)), o.identity, o.horizon,
 EXISTS (SELECT FROM {schema}.allow a WHERE a.hash = $1::uuid AND a.scope = $3::text AND a.operation = $2::text AND a.key = $4::bytea),
 (SELECT int8send(max(f.until)) || boolsend(bool_or(f.ended IS NULL)) FROM {schema}.fence f WHERE f.operation IN ('', $2::text) AND f.scope IN ('', $3::text)),
 record_send(r)
FROM (SELECT) one LEFT JOIN {schema}.operation o ON o.operation = $2::text LEFT JOIN {schema}.record r ON r.hash = $1::uuid`

	previousInsert = `WITH kept AS (INSERT INTO {schema}.record (hash, identity, ref, version, format, state, disputed, scope, operation, key, actor, raw, deciding, rule, schema,
 created, final, replay_until, remember_until, attempt, fence, lease, evidence, status, effect, digest, header, body)
VALUES (CAST(CASE WHEN encode(timestamptz_send(transaction_timestamp()), 'hex') <> $28::text THEN 'refrain: another transaction'
 WHEN (SELECT identity FROM {schema}.operation WHERE operation = $8::text) IS DISTINCT FROM $29::text THEN 'refrain: another identity version' ELSE $1::text END AS uuid),
 coalesce($29::text, ''), $2::bytea, $3::int8, $4::int2, $5::int2, $6::bool, $7::text, $8::text, $9::bytea, $10::bytea, $11::bytea, $12::bytea, $13::text, $14::text,
 $15::int8, $16::int8, $17::int8, $18::int8, $19::int4, $20::int8, $21::int8, $22::bytea, $23::int4, $24::bytea, $25::bytea, $26::bytea, $27::bytea) RETURNING 1)
SELECT CAST(CASE WHEN NOT EXISTS (SELECT FROM kept) THEN 'refrain: the table did not take the record: it has a trigger or a rule' END AS uuid)`

	previousOverdue = `SELECT r.ref, uuid_send(r.hash), r.scope, r.operation, r.key FROM {schema}.record r
WHERE r.remember_until <= $1::int8 AND r.state IN ($2::int8, $3::int8) AND NOT r.disputed AND r.format <= $4::int8 AND r.ref > $5::bytea
ORDER BY r.ref LIMIT $6::int8 FOR UPDATE SKIP LOCKED`
)

// arrayText is a PostgreSQL array of texts that need no quotes.
func arrayText(elements []string) string { return "{" + strings.Join(elements, ",") + "}" }
