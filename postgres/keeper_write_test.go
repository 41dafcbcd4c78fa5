package postgres

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Whatever a record holds comes back byte for byte, through both drivers.
func TestKeeperRoundTrip(t *testing.T) {
	for _, driver := range []string{
		"pgx", "pgx default_query_exec_mode=cache_describe", "pgx default_query_exec_mode=describe_exec",
		"pgx default_query_exec_mode=exec", "pgx default_query_exec_mode=simple_protocol",
		"postgres", "postgres binary_parameters=yes",
		"native", "native default_query_exec_mode=exec", "native default_query_exec_mode=simple_protocol",
	} {
		t.Run(driver, func(t *testing.T) {
			k := newKeeper(t, driver)
			c := keeperCall("k\x00\xff'\\\"")
			claim := claimOf(t, keeperCall("k"))
			claim.Identity.Key = c.Key
			claim.Hash = claim.Identity.Hash()
			claim.Actor = "a\x00\xfe"
			found, err := scanLookup(k.read.row(t.Context(), k.sql.read, lookupArgs(claim.Identity, claim.Hash)...), claim.Identity)
			if err != nil || found.Record != nil || found.known || found.locked || found.xid != 0 {
				t.Fatalf("before: %+v, %v", found, err)
			}
			rec := claim.Begin(time.UnixMicro(found.now))
			rec.Settle(record.Result{
				Status: 201, Header: [][2]string{{"X", "\xff\x00"}, {"X", ""}}, Body: []byte{0, 1, 0xff, '\\'}, Effect: "/orders/\x00\xff",
			}, rec.Created.Add(time.Second), claim.Policy)
			rec.Evidence = []record.Result{{Status: 500, Body: []byte{0xfe}, Effect: "\xff", Rejected: true, Digest: make([]byte, 32)}}
			if _, err := k.Swap(t.Context(), record.Record{}, *rec); err != nil {
				t.Fatal(err)
			}
			seen, now, err := k.Load(t.Context(), claim.Identity)
			if err != nil || time.Since(now).Abs() > time.Minute {
				t.Fatalf("Load: %v at %v", err, now)
			}
			same(t, "record", *seen.Record, *rec)
			again, err := k.Find(t.Context(), rec.Ref)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "found", again, *rec)

			next := again
			next.Disputed, next.Evidence = true, nil
			next, err = k.Swap(t.Context(), again, next)
			if err != nil || next.Version != again.Version+1 {
				t.Fatalf("version %d, %v", next.Version, err)
			}
			if _, err := k.Swap(t.Context(), again, next); !errors.Is(err, record.ErrSwapped) {
				t.Errorf("a stale one: %v", err)
			}
			if _, err := k.Swap(t.Context(), record.Record{}, *rec); !errors.Is(err, record.ErrSwapped) {
				t.Errorf("none: %v", err)
			}
			last, err := k.Find(t.Context(), rec.Ref)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "swapped", last, next)
		})
	}
}

// The record of an execution is not written beside another one, nor in another
// transaction, nor under an identity version that is no longer so.
func TestKeeperInsertRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		between func(k *keeper, tx runner)
		want    error
	}{
		"another transaction": {func(_ *keeper, tx runner) {
			for _, q := range []string{"COMMIT", "BEGIN"} {
				if _, err := tx.exec(t.Context(), q); err != nil {
					t.Error(err)
				}
			}
		}, errEnded},
		"another identity version": {func(k *keeper, _ runner) {
			k.setup(t, `UPDATE {schema}.operation SET identity = 'tenant,region'`)
		}, refrain.ErrContractChanged},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, "pgx")
			k.mustSettle(t, keeperCall("first")) // the operation is known
			_, err := k.settle(claimOf(t, keeperCall(name)), func(tx runner) { tt.between(k, tx) })
			if !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			seen, _, err := k.Load(t.Context(), claimOf(t, keeperCall(name)).Identity)
			if err != nil || seen.Record != nil {
				t.Errorf("afterwards %+v, %v", seen.Record, err)
			}
		})
	}
}

// At a level with one snapshot the operation's row is locked, or what a rekey has
// committed meanwhile would not be seen.
func TestKeeperFrozenSnapshot(t *testing.T) {
	k := newKeeper(t, "pgx")
	k.mustSettle(t, keeperCall("first"))
	claim := claimOf(t, keeperCall("k"))
	tx, err := k.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	run := through{tx}
	found, err := scanLookup(run.row(t.Context(), k.sql.lookup, lookupArgs(claim.Identity, claim.Hash)...), claim.Identity)
	if err != nil || !found.frozen {
		t.Fatalf("frozen %t, %v", found.frozen, err)
	}
	k.setup(t, `UPDATE {schema}.operation SET identity = 'tenant,region'`)
	rec := claim.Begin(time.UnixMicro(found.now))
	rec.Settle(record.Result{}, rec.Created, claim.Policy)
	statements, err := k.sql.writes(claim, rec, found, record.Decision{Action: record.Execute})
	if err != nil || len(statements) != 1 {
		t.Fatalf("%d statements, %v", len(statements), err)
	}
	_, err = run.exec(t.Context(), statements[0].sql, statements[0].args...)
	if sqlState(err) != "40001" || !retryable(err) {
		t.Errorf("written under the old identity version: %v", err)
	}
}

// An unique violation is a lost race, whatever the driver, and never a success.
func TestKeeperLostRace(t *testing.T) {
	for _, driver := range []string{"pgx", "postgres", "native"} {
		t.Run(driver, func(t *testing.T) {
			k := newKeeper(t, driver)
			k.mustSettle(t, keeperCall("first"))
			other := k.sibling(t)
			claim := claimOf(t, keeperCall("k"))
			raced := 0
			_, err := k.settle(claim, func(runner) {
				raced++
				rec := claim.Begin(time.Now())
				rec.Settle(record.Result{Body: []byte("other")}, time.Now(), claim.Policy)
				if _, err := other.Swap(t.Context(), record.Record{}, *rec); err != nil {
					t.Error(err)
				}
			})
			var refusal *refrain.Error
			if raced != 1 || !errors.As(err, &refusal) || refusal.Row != "3" {
				t.Errorf("%d races, %v; want to find the other's record", raced, err)
			}
			seen, _, err := k.Load(t.Context(), claim.Identity)
			if err != nil || string(seen.Record.Result.Body) != "other" {
				t.Errorf("%+v, %v", seen.Record, err)
			}
		})
	}
}

// A record whose memory has ended is replaced by exactly one execution: the one
// that saw the version it replaces.
func TestKeeperTakeOver(t *testing.T) {
	now := noon
	k := newKeeper(t, "pgx", at(&now))
	old := k.mustSettle(t, keeperCall("k"))
	now = now.Add(3 * time.Hour)
	next := k.mustSettle(t, keeperCall("k"))
	if next.Ref == old.Ref {
		t.Fatal("not taken over")
	}
	if _, err := k.Find(t.Context(), old.Ref); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("the old one: %v", err)
	}
	now = now.Add(3 * time.Hour)
	raced := 0
	_, err := k.settle(claimOf(t, keeperCall("k")), func(runner) {
		if raced++; raced == 1 { // somebody lengthens its memory meanwhile
			longer := *next
			longer.ReplayUntil, longer.RememberUntil = now.Add(time.Hour), now.Add(time.Hour)
			if _, err := k.sibling(t).Swap(t.Context(), *next, longer); err != nil {
				t.Error(err)
			}
		}
	})
	var refusal *refrain.Error
	if raced != 1 || !errors.As(err, &refusal) || refusal.Row != "3" {
		t.Errorf("%d runs, %v; want its replay", raced, err)
	}
}

// An allow permits one execution, and is spent by it.
func TestKeeperAllowIsSpent(t *testing.T) {
	k := newKeeper(t, "pgx")
	claim := claimOf(t, keeperCall("01938e85-1000-7000-8000-000000000001"))
	k.mustSettle(t, keeperCall("first"))
	k.setup(t, `UPDATE {schema}.operation SET horizon = 2000000000000000`)
	if _, err := k.settle(claim, nil); !errors.Is(err, refrain.ErrTooLate) {
		t.Fatalf("%v, want too late", err)
	}
	grant := func() {
		t.Helper()
		err := k.Change(t.Context(), claim.Identity, func(record.Seen, time.Time) (record.Edit, error) {
			return record.Edit{GrantAllow: "asked"}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	grant()
	rec, err := k.settle(claim, nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "allows", k.number(t, `SELECT count(*) FROM {schema}.allow`), int64(0))

	k.setup(t, `DELETE FROM {schema}.record WHERE ref = $1`, packRef(rec.Ref))
	grant()
	runs := 0
	_, err = k.settle(claim, func(runner) {
		if runs++; runs == 1 { // somebody else spends it
			k.setup(t, `DELETE FROM {schema}.allow`)
		}
	})
	if runs != 1 || !errors.Is(err, refrain.ErrTooLate) {
		t.Errorf("%d runs, %v; want too late", runs, err)
	}
}
