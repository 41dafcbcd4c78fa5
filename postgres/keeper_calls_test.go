package postgres

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// noon is a store's clock in tests that stop it.
var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func at(now *time.Time) Options { return Options{Now: func() time.Time { return *now }} }

var keeperContract = refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 2 * time.Hour}

func keeperCall(key string) refrain.Call {
	return refrain.Call{Contract: keeperContract, Scope: refrain.Tenant("north"), Key: key, Input: []byte(`{"item":"` + key + `"}`)}
}

func claimOf(t testing.TB, c refrain.Call) *record.Claim {
	t.Helper()
	claim, err := c.Claim()
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

// settle executes nothing and records that it did, as an engine does.
func (k *keeper) settle(c *record.Claim, between func(tx runner)) (rec *record.Record, err error) {
	err = k.write(context.Background(), func(ctx context.Context, tx runner) error {
		found, err := scanLookup(tx.row(ctx, k.sql.lookup, lookupArgs(c.Identity, c.Hash)...), c.Identity)
		if err != nil {
			return err
		}
		if !found.locked {
			return record.ErrHeld
		}
		if err := c.CheckIdentity(found.Seen); err != nil {
			return err
		}
		now := k.time(found.now)
		decision := record.Decide(c.Policy, found.Seen, c.Request, now)
		if decision.Action != record.Execute {
			return record.Refusal(decision, found.Seen, c, now)
		}
		rec = c.Begin(now)
		rec.Settle(record.Result{Body: []byte("done")}, now, c.Policy)
		if between != nil {
			between(tx)
		}
		statements, err := k.sql.writes(c, rec, found, decision)
		if err != nil {
			return err
		}
		for _, st := range statements {
			if _, err := tx.exec(ctx, st.sql, st.args...); err != nil {
				return lostRace(err)
			}
		}
		return nil
	})
	return rec, err
}

func (k *keeper) mustSettle(t testing.TB, c refrain.Call) *record.Record {
	t.Helper()
	rec, err := k.settle(claimOf(t, c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// open commits the claim of a handler that commits for itself.
func (k *keeper) open(t testing.TB, key string) (rec *record.Record) {
	t.Helper()
	claim := claimOf(t, keeperCall(key))
	err := k.Change(t.Context(), claim.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
		edit, opened, fresh, err := claim.Open(seen, now)
		if err == nil && !fresh {
			err = errors.New("not fresh")
		}
		rec = opened
		return edit, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n%+v, want\n%+v", what, got, want)
	}
}

func wantRow(t testing.TB, err error, row string, problem error) {
	t.Helper()
	var refusal *refrain.Error
	if !errors.As(err, &refusal) || refusal.Row != row || !errors.Is(err, problem) {
		t.Errorf("error %v, want row %q, %v", err, row, problem)
	}
}
