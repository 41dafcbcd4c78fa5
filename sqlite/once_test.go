package sqlite

import (
	"context"
	"errors"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// once is an effect that orders item and holds value for the rule "invoice".
func once(db *DB, item, value string) effect {
	return func(ctx context.Context, tx Tx) (refrain.Result, error) {
		if _, err := put(item)(ctx, tx); err != nil {
			return done, err
		}
		return done, db.Once(ctx, tx, "invoice", value)
	}
}

// wantOnces checks which values the rule "invoice" holds.
func wantOnces(t *testing.T, db *DB, want ...string) {
	t.Helper()
	all, err := db.Onces(t.Context(), upkeep.OnceQuery{Rule: "invoice"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range all {
		got = append(got, o.Value)
	}
	equal(t, "values", got, want)
}

// Neighbours in one transaction hold their values, or not, alone; a value that
// was rolled back is free.
func TestOnceInGroup(t *testing.T) {
	db := openShop(t)
	together(t, db,
		func() {
			err := run(db, named("a", "k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				_, err := once(db, "a", "7")(ctx, tx)
				return done, errors.Join(errors.New("no"), err)
			})
			if !errors.Is(err, refrain.ErrEffectFailed) || errors.Is(err, refrain.ErrTaken) {
				t.Error(err)
			}
		},
		func() {
			err := run(db, named("b", "k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				_, err := once(db, "b", "7")(ctx, tx)
				return refrain.Result{Rejected: true}, err
			})
			if err != nil {
				t.Error(err)
			}
		},
		func() {
			if err := run(db, named("c", "k"), once(db, "c", "7")); err != nil {
				t.Error(err)
			}
		},
		func() {
			if err := run(db, named("d", "k"), once(db, "d", "7")); !errors.Is(err, refrain.ErrTaken) {
				t.Errorf("%v, want ErrTaken", err)
			}
		},
		func() { // an effect may live with it
			err := run(db, named("e", "k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				if _, err := once(db, "e", "7")(ctx, tx); !errors.Is(err, refrain.ErrTaken) {
					t.Errorf("%v, want ErrTaken", err)
				}
				return done, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	wantOnces(t, db, "7")
	wantItems(t, db, "c", "e")
	all, err := db.Onces(t.Context(), upkeep.OnceQuery{Rule: "invoice"})
	claim, claimErr := named("c", "k").Claim()
	if err := errors.Join(err, claimErr); err != nil {
		t.Fatal(err)
	}
	seen, _, err := db.Load(t.Context(), claim.Identity)
	if err != nil || seen.Record == nil || all[0].Ref != seen.Record.Ref || all[0].At.IsZero() {
		t.Errorf("%+v, taken by %+v, %v", all, seen.Record, err)
	}
}

// A value may be held without any key: in the application's own work, in its own
// transaction, and with ExecuteIn.
func TestOnceWithoutEffect(t *testing.T) {
	path := t.TempDir() + "/shop.db"
	db := openAt(t, path)
	raw := plain(t, path, "busy_timeout(5000)")
	for value, in := range map[string]func(commit bool, work func(context.Context, Tx) error) error{
		"update": func(commit bool, work func(context.Context, Tx) error) error {
			return db.Update(t.Context(), func(ctx context.Context, tx Tx) error {
				if err := work(ctx, tx); err != nil || commit {
					return err
				}
				return errors.New("no")
			})
		},
		"own": func(commit bool, work func(context.Context, Tx) error) error {
			tx, err := raw.BeginTx(t.Context(), nil)
			if err != nil {
				return err
			}
			err = work(t.Context(), tx)
			if !commit || err != nil {
				return errors.Join(err, tx.Rollback())
			}
			return tx.Commit()
		},
		"joined": func(commit bool, work func(context.Context, Tx) error) error {
			tx, err := raw.BeginTx(t.Context(), nil)
			if err != nil {
				return err
			}
			_, err = db.ExecuteIn(t.Context(), tx, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) { return done, work(ctx, tx) })
			if !commit || err != nil {
				return errors.Join(err, tx.Rollback())
			}
			return tx.Commit()
		},
	} {
		take := func(ctx context.Context, tx Tx) error { return db.Once(ctx, tx, "invoice", value) }
		_ = in(false, take)
		wantOnces(t, db)
		if err := in(true, take); err != nil {
			t.Errorf("%s: %v", value, err)
		}
		again := in(true, func(ctx context.Context, tx Tx) error {
			err := take(ctx, tx)
			if _, usable := tx.ExecContext(ctx, `INSERT INTO orders (item) VALUES (?)`, value); usable != nil {
				t.Errorf("%s: the transaction ended: %v", value, usable)
			}
			return err
		})
		if value != "joined" && !errors.Is(again, refrain.ErrTaken) { // a replay does not ask again
			t.Errorf("%s: %v, want ErrTaken", value, again)
		}
		if err := db.RemoveOnce(t.Context(), "invoice", value, "ops", "a mistake"); err != nil {
			t.Error(err)
		}
	}
	lines, err := db.Audits(t.Context(), "")
	if err != nil || len(lines) != 3 || lines[0].Action != "once-remove" || lines[0].Detail != "invoice" || lines[0].By != "ops" {
		t.Errorf("audit %+v, %v", lines, err)
	}
	if err := db.RemoveOnce(t.Context(), "invoice", "update", "ops", "again"); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
}

// Rules and values are bytes.
func TestOnceBytes(t *testing.T) {
	db := openShop(t)
	values := []string{"\x00", "\x00a", "A", "a", "a\x00", "a ", "\xc3\xbc", "\xff"} // sorted but for "a\x00"
	for _, value := range append(values, values...) {
		err := db.Update(t.Context(), func(ctx context.Context, tx Tx) error { return db.Once(ctx, tx, "invoice", value) })
		if err != nil && !errors.Is(err, refrain.ErrTaken) {
			t.Errorf("%q: %v", value, err)
		}
	}
	wantOnces(t, db, values...)
	page, err := db.Onces(t.Context(), upkeep.OnceQuery{Rule: "invoice", After: "a", Limit: 2})
	if err != nil || len(page) != 2 || page[0].Value != "a\x00" || page[1].Value != "a " {
		t.Errorf("behind a: %+v, %v", page, err)
	}
	if all, err := db.Onces(t.Context(), upkeep.OnceQuery{Rule: "Invoice"}); err != nil || len(all) != 0 {
		t.Errorf("another rule: %+v, %v", all, err)
	}
	if err := db.Once(t.Context(), nil, "", "x"); !errors.Is(err, upkeep.ErrOnce) {
		t.Errorf("%v, want ErrOnce", err)
	}
}

// What Once may write, the effect itself may not.
func TestOnceIsNotTheEffects(t *testing.T) {
	db := openShop(t)
	err := run(db, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		if _, err := once(db, "k", "7")(ctx, tx); err != nil {
			return done, err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM refrain_once`)
		if !errors.Is(err, refrain.ErrOwned) {
			t.Errorf("%v, want ErrOwned", err)
		}
		return done, nil
	})
	if !errors.Is(err, refrain.ErrOwned) {
		t.Errorf("swallowed: %v, want ErrOwned", err)
	}
	wantOnces(t, db)
}
