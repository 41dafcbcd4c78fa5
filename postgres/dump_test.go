package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/upkeep"
)

// program runs one of PostgreSQL's, or skips the test where it is not installed.
func program(t testing.TB, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
	case os.Getenv("REFRAIN_REQUIRE_SERVICES") == "1":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	if out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// another is the URL of an empty database on the same server.
func another(t testing.TB, s *shop) string {
	t.Helper()
	u, err := url.Parse(keeperURL(t))
	if err != nil {
		t.Fatal(err)
	}
	name := "restored_" + strings.ToLower(rand.Text()[:10])
	s.sql0(t, `CREATE DATABASE `+name)
	t.Cleanup(func() { s.sql0(t, `DROP DATABASE `+name+` WITH (FORCE)`) })
	u.Path = "/" + name
	return u.String()
}

// A dump taken while calls and a reaper are at work is restored to a store in which
// every effect has its record. Behind a fence what came after it is refused.
func TestDumpUnderLoad(t *testing.T) {
	program(t, "pg_dump", "--version")
	start := time.Now()
	now := func() time.Time { return overdue(noon).Add(time.Since(start)) }
	s := newShop(t, Options{Schema: "dumped_" + strings.ToLower(rand.Text()[:10]), Now: now})
	s.records(t, 5000, 100) // which are due

	var mu sync.Mutex
	acknowledged := make(map[string]string) // key → ref
	var before map[string]bool
	execute := func(s *shop, key string) (refrain.Outcome, error) {
		return s.Execute(t.Context(), keeperCall(key), s.put(key))
	}
	begun, dumped := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for worker := range 3 {
		all.Go(func() {
			for n, more := 0, 20; more > 0; n++ {
				key := uuidAt(now(), n*3+worker)
				out, err := execute(s, key)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				acknowledged[key] = out.Ref
				if len(acknowledged) == 100 {
					close(begun)
				}
				mu.Unlock()
				select {
				case <-dumped:
					more--
				default:
				}
			}
		})
	}
	all.Go(func() {
		for more := true; more; {
			done, err := s.Reap(context.Background(), upkeep.Reap{Limit: 20})
			if err != nil {
				t.Error(err)
				return
			}
			more = done.More
		}
	})
	<-begun
	mu.Lock()
	before = make(map[string]bool)
	for key := range acknowledged {
		before[key] = true
	}
	mu.Unlock()
	file := filepath.Join(t.TempDir(), "dump")
	program(t, "pg_dump", "--format=custom", "--schema="+s.opts.Schema, "--file="+file, keeperURL(t))
	close(dumped)
	all.Wait()

	there := another(t, s)
	program(t, "pg_restore", "--exit-on-error", "--single-transaction", "--dbname="+there, file)
	r := openShop(t, there, s.opts)
	r.raw = rawPool(t, there)
	k := &keeper{Store: &r.Store}
	if status, err := k.MigrationStatus(t.Context()); err != nil || status.Check() != nil {
		t.Fatalf("%+v, %v", status, err)
	}
	rows, err := r.raw.Query(t.Context(), r.sql.text(`SELECT coalesce(o.item, ''), coalesce(convert_from(r.key, 'UTF8'), '') FROM {schema}.orders o
FULL JOIN (SELECT key FROM {schema}.record WHERE key NOT LIKE 'order-%'::bytea) r ON convert_from(r.key, 'UTF8') = o.item`))
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	var item, key string
	if _, err := pgx.ForEachRow(rows, []any{&item, &key}, func() error {
		found[key] = true
		if item != key {
			t.Errorf("an effect %q with a record %q", item, key)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for key := range before {
		if !found[key] {
			t.Errorf("%s was acknowledged before the dump and is not in it", key)
		}
	}
	k.reaps(t, upkeep.Reap{}, 0, int(k.count(t, `SELECT count(*) FROM {schema}.record WHERE key LIKE 'order-%'::bytea`)))

	verified(t, upkeep.Verify{Store: r.DB})
	if _, err := r.SetFence(t.Context(), upkeep.Fence{Until: now(), By: "ops", Reason: "restored"}); err != nil {
		t.Fatal(err)
	}
	lost := 0
	for key, ref := range acknowledged {
		out, err := execute(r, key)
		if found[key] && (err != nil || !out.Replayed || out.Ref != ref) || !found[key] && !errors.Is(err, refrain.ErrTooLate) {
			t.Errorf("%s, in the dump %t: %+v, %v", key, found[key], out, err)
		}
		if !found[key] {
			lost++
		}
	}
	if lost == 0 {
		t.Error("no call came after the dump")
	}
	listed := min(lost, reviewsPerScope) // on a fast machine more are lost than are kept for review
	same(t, "reviews", k.count(t, `SELECT count(*) FROM {schema}.review`), int64(listed))
	same(t, "effects", k.count(t, `SELECT count(*) FROM {schema}.orders`), int64(len(found)))
	verified(t, upkeep.Verify{Store: r.DB})
}

// count reads one integer through the store.
func (k *keeper) count(t testing.TB, query string) (n int64) {
	t.Helper()
	if err := k.read.row(t.Context(), k.sql.text(query)).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}
