package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/archive"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
)

// past is a database that was used two hours ago, with a memory of one.
type past struct {
	t        *testing.T
	url      string
	db       engine.Database
	contract refrain.Contract
}

func newPast(t *testing.T) *past {
	t.Helper()
	path := filepath.Join(t.TempDir(), "past.db")
	p := &past{t: t, url: "sqlite:" + path, contract: refrain.Contract{
		Operation: "orders.create", Schema: "1", ReplayFor: time.Minute, RememberFor: time.Hour,
	}}
	began := time.Now()
	var err error
	p.db, err = engine.File(path).Open(t.Context(), engine.Options{Now: func() time.Time { return time.Now().Add(-2*time.Hour - time.Since(began)/2) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := p.db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.db.Register(t.Context(), p.contract); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *past) do(key string) (refrain.Outcome, error) {
	call := refrain.Call{Contract: p.contract, Scope: refrain.Tenant("north"), Key: key, Input: []byte("tea")}
	return p.db.Execute(p.t.Context(), call, func(context.Context, refrain.SQLTx) (refrain.Result, error) {
		return refrain.Result{Status: 201, Body: []byte("made " + key), Effect: "/orders/" + key}, nil
	})
}

func (p *past) orders(n int) (keys []string) {
	p.t.Helper()
	for i := range n {
		key := fmt.Sprintf("order-%05d", i)
		if out, err := p.do(key); err != nil || out.Replayed {
			p.t.Fatalf("%s: %+v, %v", key, out, err)
		}
		keys = append(keys, key)
	}
	return keys
}

// run runs a command on the database and demands its exit code.
func (p *past) run(exit int, args ...string) string {
	p.t.Helper()
	got, stdout, stderr := runMain(p.t, nil, append(args, "--db", p.url)...)
	if got != exit {
		p.t.Fatalf("%s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, exit, stdout, stderr)
	}
	return stdout + stderr
}

func (p *past) says(exit int, want string, args ...string) {
	p.t.Helper()
	if out := p.run(exit, args...); !strings.Contains(out, want) {
		p.t.Errorf("%s: %q does not say %q", strings.Join(args, " "), out, want)
	}
}

// TestArchiveFindsEveryKey: what was reaped is in the archive, all of it, once.
func TestArchiveFindsEveryKey(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	keys := p.orders(10_000)
	file := filepath.Join(t.TempDir(), "receipts.zst")
	p.says(exitOK, "due: 0 results and 10000 records of 10000", "reap", "--dry-run")
	p.says(exitOK, "archived and forgot 10000 records", "archive", "--to", file)
	p.says(exitOK, "archived and forgot 0 records", "archive", "--to", file)
	p.says(exitOK, "0 records", "verify", "--archive", file)

	left := make(map[string]bool)
	for _, key := range keys {
		left[key] = true
	}
	for rec, err := range archive.Read(file) {
		if err != nil {
			t.Fatal(err)
		}
		key := rec.Identity.Key
		if !left[key] || string(rec.Result.Body) != "made "+key || rec.Result.Effect != "/orders/"+key {
			t.Fatalf("%s: %+v", key, rec)
		}
		delete(left, key)
	}
	if len(left) > 0 {
		t.Errorf("%d keys are not in the archive", len(left))
	}
	for _, key := range []string{keys[0], keys[5000], keys[9999]} {
		p.says(exitOK, "effect /orders/"+key, "archive", "find", file, "--key", key, "--operation", "orders.create", "--scope", "tenant=north")
	}
	p.says(exitDiffers, "not in the archive", "archive", "find", file, "--key", "another")
	p.says(exitDiffers, "not in the archive", "archive", "find", file, "--key", keys[0], "--scope", "tenant=south")
}

// TestArchiveThatCannotBeWritten forgets nothing.
func TestArchiveThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.orders(20)
	notes := filepath.Join(t.TempDir(), "notes")
	if err := os.WriteFile(notes, []byte("these are notes, and no archive of anything"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{notes, filepath.Join(notes, "below"), "/dev/full"} {
		p.run(exitDatabase, "archive", "--to", file)
		p.run(exitDatabase, "reap", "--once", "--archive", file)
	}
	p.says(exitUsage, "later than now", "archive", "--to", filepath.Join(t.TempDir(), "a"), "--before", time.Now().Add(time.Hour).Format(time.RFC3339))
	p.says(exitOK, "20 records", "verify")
	p.says(exitOK, "reaped: 0 results and 20 records of 20 looked at", "reap", "--once")
	p.says(exitOK, "reaped: 0 results and 0 records", "reap", "--once")
}

// TestReviewIsSettled: a fence refuses an old untimed key, a person lets one run and
// tells of another that it was done.
func TestReviewIsSettled(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	name := []string{"--reason", "seen", "--by", "ann"}
	signed := func(args ...string) []string { return append(args, name...) }
	p.says(exitUsage, "later than now", signed("fence", "set", "--scope", "all", "--until", time.Now().Add(time.Minute).Format(time.RFC3339))...)
	p.says(exitUsage, "--scope and --until", signed("fence", "set", "--scope", "all")...)
	p.says(exitUsage, "go into the audit", "fence", "set", "--scope", "all", "--until", "now")
	p.says(exitOK, "fence 1 stands", signed("fence", "set", "--scope", "all", "--until", time.Now().Add(-3*time.Hour).Format(time.RFC3339))...)
	for _, key := range []string{"a", "b", "c", "a"} {
		if _, err := p.do(key); err == nil {
			t.Fatalf("%s ran behind a fence", key)
		}
	}
	var list []late
	if err := json.Unmarshal([]byte(p.run(exitOK, "review", "list", "--json")), &list); err != nil || len(list) != 3 {
		t.Fatalf("under review: %+v, %v", list, err)
	}
	var twice string
	var others []string
	for _, l := range list {
		if l.Count == 2 {
			twice = l.ID
		} else {
			others = append(others, l.ID)
		}
	}
	p.says(exitOK, "allowed "+twice, signed("review", "allow", twice)...)
	p.says(exitDiffers, "is under review", signed("review", "allow", twice)...)
	p.says(exitOK, "done "+others[0], signed("review", "done", others[0], "--effect", "/orders/1")...)
	if out, err := p.do("a"); err != nil || out.Replayed {
		t.Errorf("an allowed key: %+v, %v", out, err)
	}
	if out, err := p.do("a"); err != nil || !out.Replayed {
		t.Errorf("it ran again: %+v, %v", out, err)
	}
	p.says(exitOK, "removed fence 1", signed("fence", "void", "1")...)
	p.says(exitDiffers, "no fence 1 stands", signed("fence", "end", "1")...)
	p.says(exitUsage, "not the id of a fence", signed("fence", "end", "first")...)
	p.says(exitOK, "2 records", "verify")
}

// TestOnceIsListedAndRemoved: what a rule holds is shown, and given free with a name.
func TestOnceIsListedAndRemoved(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.says(exitOK, "", "once", "list", "--rule", "bonus")
	p.says(exitUsage, "no rule is named", "once", "list")
	p.says(exitDiffers, "does not hold this value", "once", "remove", "--rule", "bonus", "--value", "a", "--reason", "r", "--by", "b")
}

// TestVerifyFindsWhatIsWrong: a fault ends with 1 and is told by its ref.
func TestVerifyFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.orders(3)
	out, err := p.do("order-00001")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.db.Setup(t.Context(), `CREATE TABLE orders (id TEXT PRIMARY KEY, created INTEGER)`,
		`INSERT INTO orders SELECT 'order-0000' || value, NULL FROM json_each('[0,1]')`); err != nil {
		t.Fatal(err)
	}
	query := `SELECT created FROM orders WHERE '/orders/' || id = ?`
	p.says(exitDiffers, "/orders/order-00002 is not there", "verify", "--effects", query)
	if err := p.db.Setup(t.Context(), `UPDATE refrain_record SET remember_until = replay_until - 1 WHERE ref = '`+out.Ref+`'`); err != nil {
		t.Fatal(err)
	}
	p.says(exitDiffers, out.Ref+": final", "verify")
	p.says(exitDiffers, `"faults": 1`, "verify", "--json")
	if err := p.db.Setup(t.Context(), `UPDATE refrain_record SET hash = randomblob(16) WHERE ref = '`+out.Ref+`'`); err != nil {
		t.Fatal(err)
	}
	p.says(exitDiffers, out.Ref, "verify")
}

// TestRebuildKeepsRecords: a row whose record is there changes nothing, one that is
// past its memory makes none, and what is not the JSON of a row is told without it.
func TestRebuildKeepsRecords(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.contract.RememberFor = 24 * time.Hour
	if err := p.db.Register(t.Context(), p.contract); err != nil {
		t.Fatal(err)
	}
	first, err := p.do("kept")
	if err != nil {
		t.Fatal(err)
	}
	rows := filepath.Join(t.TempDir(), "rows")
	row := func(key string, at time.Time) string {
		return fmt.Sprintf(`{"scope":"tenant=north","operation":"orders.create","key":%q,"effect":"/orders/7","at":%q}`+"\n", key, at.Format(time.RFC3339Nano))
	}
	write := func(text string) {
		if err := os.WriteFile(rows, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rebuild := []string{"rebuild", "--rows", rows, "--reason", "seen", "--by", "ann"}
	write(row("kept", time.Now().Add(-time.Hour)) + row("lost", time.Now().Add(-time.Hour)) + row("old", time.Now().Add(-25*time.Hour)))
	p.says(exitOK, "rebuilt 1 of 3 rows; 1 had a record, 1 would be forgotten by now", rebuild...)
	p.says(exitOK, "rebuilt 0 of 3 rows; 2 had a record", rebuild...)
	if out, err := p.do("kept"); err != nil || !out.Replayed || out.Ref != first.Ref {
		t.Errorf("kept: %+v, %v", out, err)
	}
	var refusal *refrain.Error
	if _, err := p.do("lost"); !errors.As(err, &refusal) || refusal.Row != "5" || refusal.Effect != "/orders/7" {
		t.Errorf("lost: %v", err)
	}
	if out, err := p.do("old"); err != nil || out.Replayed {
		t.Errorf("old: %+v, %v", out, err)
	}
	write(row("new", time.Now()) + `{"key":"secret"` + "\n")
	if said := p.run(exitUsage, rebuild...); !strings.Contains(said, "row 2") || strings.Contains(said, "secret") {
		t.Errorf("a broken row: %s", said)
	}
	write(`{"scope":"tenant=north","operation":"orders.lost","key":"k","effect":"/","at":"2026-01-01T00:00:00Z"}` + "\n")
	p.says(exitUsage, `no contract of the operation is registered: "orders.lost"`, rebuild...)
}
