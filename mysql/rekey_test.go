package mysql

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

var toEurope = Rekey{Operation: "orders.create", Add: [][2]string{{"region", "eu"}}, By: "ops", Reason: "second region"}

// european is a call under the contract and the scope after toEurope.
func european(call refrain.Call) refrain.Call {
	call.Contract.Dimensions = []string{"tenant", "region"}
	call.Scope = call.Scope.With("region", "eu")
	return call
}

// Callers wait while records are moved, so fifty thousand take seconds.
func TestRekeyMany(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	first := mustBuy(t, db, order("first"))
	n := 5_000
	if os.Getenv("REFRAIN_PROOF") == "full" {
		n = 50_000
	}
	fill(t, s, n, time.Now())
	began := time.Now()
	done, err := db.Rekey(t.Context(), toEurope)
	took := time.Since(began)
	if err != nil || done.Records != n+1 {
		t.Fatalf("moved %+v, %v", done, err)
	}
	t.Logf("%d records in %v", done.Records, took)
	if again := mustBuy(t, db, european(order("first"))); !again.Replayed || again.Ref != first.Ref {
		t.Errorf("replay %+v", again)
	}
	for i := 0; i < n; i += n / 10 {
		seen, _, err := db.Load(t.Context(), identityOf(t, european(order(fmt.Sprint("filled ", i)))))
		if err != nil || seen.Record == nil || seen.Record.Version != 2 {
			t.Errorf("record %d: %+v, %v", i, seen.Record, err)
		}
	}
	var left int
	if err := s.raw.QueryRow(`SELECT count(*) FROM refrain_record WHERE scope <> 'tenant=north&region=eu'`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d records are left behind, %v", left, err)
	}
}

// An effect that began before a rekey and ends after it is not committed: its
// record would be under an identity nobody looks for.
func TestRekeyDuringAnEffect(t *testing.T) {
	s := newShop(t)
	for name, executing := range map[string]*DB{"Open": opened(t, s.cfg, Options{}), "New": onForeign(t, s.cfg, Options{})} {
		t.Run(name, func(t *testing.T) {
			call := order("during " + name)
			call.Contract.Operation = "orders." + name
			first := call
			first.Key = "first"
			mustBuy(t, executing, first)
			running, release := make(chan struct{}), newGate(t)
			executed := make(chan error, 1)
			go func() {
				begun := false
				_, err := executing.Execute(t.Context(), call, func(ctx context.Context, tx Tx) (refrain.Result, error) {
					if !begun {
						begun = true
						close(running)
						<-release.opened
					}
					return buys(call.Key)(ctx, tx)
				})
				executed <- err
			}()
			await(t, running, "the effect")
			r := toEurope
			r.Operation = call.Contract.Operation
			if _, err := opened(t, s.cfg, Options{}).Rekey(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			release.open()
			wantRow(t, await(t, executed, "Execute"), "9", refrain.ErrContractChanged)
			if rows := column(t, s.raw, `SELECT id FROM effects WHERE id = ?`, call.Key); len(rows) != 0 {
				t.Errorf("effects %q", rows)
			}
			if out := mustBuy(t, executing, european(call)); out.Replayed {
				t.Error("the action has a record")
			}
		})
	}
}

// Who writes a record holds the operation's row until the COMMIT: a rekey waits
// for it and moves the record, too.
func TestRekeyWaitsForARecord(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	mustBuy(t, db, order("first"))
	tx, err := s.raw.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	claim, err := order("under way").Claim()
	if err != nil {
		t.Fatal(err)
	}
	rec := claim.Begin(time.Now())
	rec.Settle(record.Result{Status: 201}, time.Now(), claim.Policy)
	if err := insert(t.Context(), tx, rec, claim.Hash, claim.IdentityVersion); err != nil {
		t.Fatal(err)
	}
	moved := make(chan Rekeyed, 1)
	go func() {
		done, err := db.Rekey(t.Context(), toEurope)
		if err != nil {
			t.Error(err)
		}
		moved <- done
	}()
	s.awaitLockWait(t, 1)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if done := await(t, moved, "the rekey"); done.Records != 2 {
		t.Errorf("moved %+v", done)
	}
	if again := mustBuy(t, db, european(order("under way"))); !again.Replayed || again.Ref != rec.Ref {
		t.Errorf("replay %+v", again)
	}
}

// A change that holds the operation's row ends before a rekey begins.
func TestRekeyWaitsForAChange(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	mustBuy(t, db, order("first"))
	deciding, release := make(chan struct{}), newGate(t)
	changed := make(chan error, 1)
	claim, err := order("under way").Claim()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		changed <- db.Change(t.Context(), claim.Identity, func(_ record.Seen, now time.Time) (record.Edit, error) {
			close(deciding)
			<-release.opened
			rec := claim.Begin(now)
			rec.State = record.Unknown
			return record.Edit{Put: rec, Register: claim}, nil
		})
	}()
	await(t, deciding, "the decision")
	moved := make(chan error, 1)
	go func() {
		done, err := opened(t, s.cfg, Options{}).Rekey(t.Context(), toEurope)
		if err == nil && done.Records != 2 {
			err = fmt.Errorf("moved %+v", done)
		}
		moved <- err
	}()
	s.awaitLockWait(t, 1)
	release.open()
	if err := errors.Join(await(t, changed, "the change"), await(t, moved, "the rekey")); err != nil {
		t.Fatal(err)
	}
	if seen, _, err := db.Load(t.Context(), identityOf(t, european(order("under way")))); err != nil || seen.Record == nil {
		t.Errorf("seen %+v, %v", seen, err)
	}
}

// The operation that is moved to may begin meanwhile, by other dimensions: its
// first call waits for the rekey and finds the contract of the moved records.
func TestRekeyTargetBegins(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	mustBuy(t, db, order("k"))
	// A live attempt elsewhere keeps nobody; a row in use keeps the rekey between
	// its locks and its end.
	holder, err := s.raw.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback()
	if _, err := holder.Exec(`SELECT n FROM refrain_record FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	moved := make(chan error, 1)
	go func() {
		_, err := db.Rekey(t.Context(), Rekey{Operation: "orders.create", To: "orders.place", By: "ops", Reason: "renamed"})
		moved <- err
	}()
	s.awaitLockWait(t, 1)
	other := european(order("k"))
	other.Contract.Operation = "orders.place"
	begun := make(chan error, 1)
	go func() {
		_, err := opened(t, s.cfg, Options{}).Execute(t.Context(), other, buys("another"))
		begun <- err
	}()
	s.awaitLockWait(t, 2)
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := await(t, moved, "the rekey"); err != nil {
		t.Fatal(err)
	}
	wantRow(t, await(t, begun, "the first call"), "9", refrain.ErrContractChanged)
	place := order("k")
	place.Contract.Operation = "orders.place"
	if again := mustBuy(t, db, place); !again.Replayed {
		t.Error("the moved record is lost")
	}
	if rows := column(t, s.raw, `SELECT id FROM effects`); len(rows) != 1 {
		t.Errorf("effects %q", rows)
	}
}
