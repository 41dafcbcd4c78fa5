package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/refrain-dev/refrain"
)

const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n`

// kept is what an effect kept although it must not.
type kept struct {
	ctx  context.Context
	tx   Tx
	stmt *sql.Stmt
	rows *sql.Rows
}

// keep leaves everything open that an effect can leave open.
func (k *kept) keep(ctx context.Context, tx Tx) (refrain.Result, error) {
	if _, err := put("first")(ctx, tx); err != nil {
		return done, err
	}
	k.ctx, k.tx = context.WithoutCancel(ctx), tx
	var err error
	if k.stmt, err = tx.PrepareContext(ctx, `INSERT INTO orders (item) VALUES ('by a statement')`); err != nil {
		return done, err
	}
	if k.rows, err = tx.QueryContext(k.ctx, endless); err != nil {
		return done, err
	}
	k.rows.Next()
	_ = tx.QueryRowContext(ctx, endless) // never scanned
	_ = tx.QueryRowContext(k.ctx, endless)
	own, cancel := context.WithCancel(context.Background()) // nobody ends it
	_ = cancel
	if _, err := tx.QueryContext(own, endless); err != nil {
		return done, err
	}
	stmt, err := tx.PrepareContext(own, endless)
	if err != nil {
		return done, err
	}
	_, err = stmt.QueryContext(context.Background())
	return done, err
}

// use tries everything that was kept; nothing of it may run.
func (k *kept) use(t *testing.T) {
	_, errExec := k.tx.ExecContext(k.ctx, `INSERT INTO orders (item) VALUES ('late')`)
	_, errBackground := k.tx.ExecContext(context.Background(), `INSERT INTO orders (item) VALUES ('late')`)
	_, errPrepare := k.tx.PrepareContext(k.ctx, `SELECT 1`)
	_, errQuery := k.tx.QueryContext(k.ctx, `SELECT 1`)
	errRow := k.tx.QueryRowContext(k.ctx, `INSERT INTO orders (item) VALUES ('late') RETURNING 1`).Scan(new(int))
	_, errStmt := k.stmt.ExecContext(context.Background())
	for what, err := range map[string]error{"Exec": errExec, "Exec in the background": errBackground, "Prepare": errPrepare,
		"Query": errQuery, "QueryRow": errRow, "the statement": errStmt} {
		if !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("%s: %v, want sql.ErrTxDone", what, err)
		}
	}
	for k.rows.Next() {
		t.Error("the rows go on")
		break
	}
	if err := k.rows.Err(); !errors.Is(err, sql.ErrTxDone) && !errors.Is(err, context.Canceled) {
		t.Errorf("rows: %v", err)
	}
}

func TestHandleAfterEffect(t *testing.T) {
	db := openShop(t)
	var k kept
	if err := run(db, call("a"), k.keep); err != nil {
		t.Fatal(err)
	}
	k.use(t)
	// In a neighbour's turn, while the neighbour's effect runs.
	err := run(db, call("b"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		used := make(chan struct{})
		go func() {
			defer close(used)
			k.use(t)
		}()
		<-used
		return put("second")(ctx, tx)
	})
	if err != nil {
		t.Error(err)
	}
	wantItems(t, db, "first", "second")
}

// What an effect leaves open neither blocks its neighbours nor the engine's end.
func TestLeftOpenInGroup(t *testing.T) {
	db := openShop(t)
	var k kept
	var errs [3]error
	together(t, db,
		func() { errs[0] = run(db, call("a"), k.keep) },
		func() { errs[1] = run(db, named("rollback", "b"), orRollback) }, // makes the leader drop the connection
		func() { errs[2] = run(db, call("c"), put("c")) },
	)
	if errs[0] != nil || !errors.Is(errs[1], errGone) || errs[2] != nil {
		t.Errorf("errors %v", errs)
	}
	k.use(t)
	wantItems(t, db, "first", "c")
}

func TestHandleConcurrently(t *testing.T) {
	db := openShop(t)
	err := run(db, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		ends := make(chan error)
		for range 8 {
			go func() {
				_, err := put("tea")(ctx, tx)
				ends <- err
			}()
		}
		var errs []error
		for range 8 {
			errs = append(errs, <-ends)
		}
		return done, errors.Join(errs...)
	})
	if err != nil {
		t.Error(err)
	}
	if n := orders(t, db); n != 8 {
		t.Errorf("%d orders, want 8", n)
	}
}

// Arguments are the driver's, also those database/sql does not know.
func TestArguments(t *testing.T) {
	db := openShop(t)
	err := run(db, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		if _, err := tx.ExecContext(ctx, `INSERT INTO orders (item) VALUES (?)`, sqlite3.JSON(map[string]int{"a": 1})); err != nil {
			return done, err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO orders (item) VALUES (:item)`, sql.Named("item", sqlite3.ZeroBlob(3)))
		return done, err
	})
	if err != nil {
		t.Error(err)
	}
	wantItems(t, db, `{"a":1}`, "\x00\x00\x00")
}
