package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// An execution that began before a rekey does not put its record under the old
// identity, and one that has written it is waited for.
func TestKeeperRekeyRace(t *testing.T) {
	k := newKeeper(t, "pgx")
	k.mustSettle(t, keeperCall("first"))
	other := k.sibling(t)
	rekeyed := make(chan error, 1)
	_, err := k.settle(claimOf(t, keeperCall("k")), func(runner) {
		_, err := other.Rekey(t.Context(), europe)
		rekeyed <- err
	})
	wantRow(t, err, "9", refrain.ErrContractChanged)
	if err := <-rekeyed; err != nil {
		t.Fatal(err)
	}
	same(t, "records", k.number(t, `SELECT count(*) FROM {schema}.record`), int64(1))

	// Now the record is written and its COMMIT is not there yet.
	claim := claimOf(t, european("k"))
	back := upkeep.Rekey{Operation: "orders.create", Drop: []string{"region"}, By: "ops", Reason: "back"}
	err = k.transaction(t.Context(), func(ctx context.Context, tx runner) error {
		found, err := scanLookup(tx.row(ctx, k.sql.lookup, lookupArgs(claim.Identity, claim.Hash)...), claim.Identity)
		if err != nil {
			return err
		}
		rec := claim.Begin(time.UnixMicro(found.now))
		rec.Settle(record.Result{}, rec.Created, claim.Policy)
		statements, err := k.sql.writes(claim, rec, found, record.Decision{})
		if err != nil {
			return err
		}
		if _, err := tx.exec(ctx, statements[0].sql, statements[0].args...); err != nil {
			return err
		}
		go func() {
			_, err := other.Rekey(context.Background(), back)
			rekeyed <- err
		}()
		other.awaitLock(t)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-rekeyed; err != nil {
		t.Fatal(err)
	}
	same(t, "left behind", k.number(t, `SELECT count(*) FROM {schema}.record WHERE scope <> 'tenant=north'`), int64(0))
	same(t, "records", k.number(t, `SELECT count(*) FROM {schema}.record`), int64(2))
}

// awaitLock waits until a session waits for the lock of the table of records.
func (k *keeper) awaitLock(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
		if k.number(t, `SELECT count(*) FROM pg_locks WHERE relation = $1::text::regclass AND NOT granted`, k.sql.text(`{schema}.record`)) > 0 {
			tick.Stop()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nobody waits for the table")
		}
	}
}

// Fifty thousand records move within seconds.
func TestKeeperRekeyLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("fifty thousand records")
	}
	k := newKeeper(t, "native")
	rec := k.mustSettle(t, keeperCall("k"))
	const n = 50_000
	tx, err := k.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	insert, err := tx.Prepare(k.sql.text(`INSERT INTO {schema}.record SELECT $1::text::uuid, pg_current_xact_id(), version, created, final, replay_until,
		remember_until, fence, lease, attempt, status, format, state, disputed, $2::bytea, scope, operation, $3::bytea, actor, raw, deciding, rule, schema,
		identity, effect, digest, evidence, header, body FROM {schema}.record WHERE ref = $4::bytea`))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n - 1 {
		id := rec.Identity
		id.Key = fmt.Sprint("key", i)
		if _, err := insert.Exec(hashText(id.Hash()), packRef(record.NewRef(noon)), []byte(id.Key), packRef(rec.Ref)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	done, err := k.Rekey(t.Context(), europe)
	if err != nil || done.Records != n {
		t.Fatalf("%+v, %v", done, err)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("%d records took %v", n, took)
	} else {
		t.Logf("%d records took %v", n, took)
	}
	k.wantKept(t, european("k"), rec)
}
