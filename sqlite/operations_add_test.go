package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

func intent(name string) operation.Operation {
	return operation.Operation{Ref: record.NewRef(time.Now()), Step: name, Provider: "pay", Key: name}
}

// accept is an effect that orders item and accepts an operation of that name.
func accept(s operation.Store[Tx], item string) effect {
	return func(ctx context.Context, tx Tx) (refrain.Result, error) {
		if _, err := put(item)(ctx, tx); err != nil {
			return done, err
		}
		rec, _, _ := record.Accept(ctx)
		o := intent(item)
		o.Action = rec.Ref
		return done, s.Add(ctx, tx, o)
	}
}

// wantSteps checks which operations are kept, in their order.
func wantSteps(t *testing.T, db *DB, want ...string) {
	t.Helper()
	ops, err := db.Operations().List(t.Context(), operation.Operation{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range ops {
		got = append(got, o.Step)
	}
	equal(t, "operations", got, want)
}

// Neighbours in one transaction keep or lose their own operations alone.
func TestAddInGroup(t *testing.T) {
	db := openShop(t)
	s := db.Operations()
	together(t, db,
		func() {
			if err := run(db, named("a", "k"), accept(s, "a")); err != nil {
				t.Error(err)
			}
		},
		func() {
			err := run(db, named("b", "k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				_, err := accept(s, "b")(ctx, tx)
				return done, errors.Join(errors.New("no"), err)
			})
			if !errors.Is(err, refrain.ErrEffectFailed) {
				t.Error(err)
			}
		},
		func() {
			if err := run(db, named("c", "k"), accept(s, "c")); err != nil {
				t.Error(err)
			}
		})
	wantSteps(t, db, "a", "c")
	wantItems(t, db, "a", "c")
}

// What Add may write, the effect itself may not, neither with its text nor
// behind a handle that Add does not know.
func TestAddIsNotTheEffects(t *testing.T) {
	db := openShop(t)
	s := db.Operations()
	for name, write := range map[string]func(ctx context.Context, tx Tx) error{
		"statement": func(ctx context.Context, tx Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE refrain_external SET due = NULL`)
			return err
		},
		"text": func(ctx context.Context, tx Tx) error {
			_, err := tx.ExecContext(ctx, addOperationSQL, record.NewRef(time.Now()), 1, nil, "x", "x", "", 1, 0, 0, 0, nil, 1, "{}", nil)
			return err
		},
		"wrapped": func(ctx context.Context, tx Tx) error { return s.Add(ctx, struct{ Tx }{tx}, intent("x")) },
	} {
		c := named(name, "k")
		err := run(db, c, func(ctx context.Context, tx Tx) (refrain.Result, error) {
			if _, err := accept(s, name)(ctx, tx); err != nil {
				t.Error(err)
			}
			if err := write(ctx, tx); !errors.Is(err, refrain.ErrOwned) {
				t.Errorf("%s: %v, want ErrOwned", name, err)
			}
			return done, nil
		})
		if !errors.Is(err, refrain.ErrOwned) {
			t.Errorf("%s, swallowed: %v, want ErrOwned", name, err)
		}
		wantReceipt(t, db, c, false)
	}
	wantSteps(t, db)
	wantUsable(t, db)
}

// A handle is of no use to Add after its turn, whoever has the connection then.
func TestAddAfterEffect(t *testing.T) {
	db := openShop(t)
	s := db.Operations()
	var kept Tx
	if err := run(db, named("a", "k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		kept = tx
		return done, nil
	}); err != nil {
		t.Fatal(err)
	}
	late := func() {
		if err := s.Add(context.Background(), kept, intent("late")); !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("after its effect: %v, want ErrTxDone", err)
		}
	}
	late()
	if err := run(db, named("b", "k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		late()
		return accept(s, "b")(ctx, tx)
	}); err != nil {
		t.Fatal(err)
	}
	wantSteps(t, db, "b")
}

// The application's own work adds like an effect.
func TestAddInUpdate(t *testing.T) {
	db := openShop(t)
	s := db.Operations()
	for _, fails := range []error{errors.New("no"), nil} {
		err := db.Update(t.Context(), func(ctx context.Context, tx Tx) error {
			return errors.Join(s.Add(ctx, tx, intent("mail")), fails)
		})
		if (err == nil) != (fails == nil) {
			t.Error(err)
		}
	}
	wantSteps(t, db, "mail")
}
