package refraintests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refraintest"
	"github.com/refrain-dev/refrain/sqlite"
)

var sound = map[string]effect{
	"Exec": put,
	"an id of the database": func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		res, err := tx.ExecContext(ctx, insert, "tea")
		if err != nil {
			return done, err
		}
		id, err := res.LastInsertId()
		return refrain.Result{Body: fmt.Append(nil, id)}, err
	},
	"RETURNING": func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		var id int
		err := tx.QueryRowContext(ctx, insert+` RETURNING id`, "tea").Scan(&id)
		return refrain.Result{Body: fmt.Append(nil, id)}, err
	},
	"its ref on the row, named arguments": func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		running, _ := refrain.CallFrom(ctx)
		var item, ref string
		err := tx.QueryRowContext(ctx, `INSERT INTO orders (item, refrain_ref) VALUES (:item, :ref) RETURNING item, refrain_ref`,
			sql.Named("ref", running.Ref), sql.Named("item", "tea")).Scan(&item, &ref)
		if err == nil && (item != "tea" || ref != running.Ref) {
			err = fmt.Errorf("the row has item %q and ref %q", item, ref)
		}
		return refrain.Result{Body: []byte(ref)}, err
	},
	"no row": func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		var cents int
		err := tx.QueryRowContext(ctx, `SELECT cents FROM prices WHERE item = 'milk'`).Scan(&cents)
		if errors.Is(err, sql.ErrNoRows) {
			_, err = tx.ExecContext(ctx, `INSERT INTO prices VALUES ('milk', 200)`)
		}
		return done, err
	},
	"a duplicate it expects": func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		_, err := tx.ExecContext(ctx, `INSERT INTO prices VALUES ('tea', 1)`)
		if errors.Is(err, sqlite3.CONSTRAINT_PRIMARYKEY) {
			_, err = tx.ExecContext(ctx, `UPDATE prices SET cents = 1 WHERE item = 'tea'`)
		}
		return done, err
	},
	"rows read to the end": func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		rows, err := tx.QueryContext(ctx, `SELECT item FROM prices ORDER BY item`)
		if err != nil {
			return done, err
		}
		defer rows.Close()
		var items []string
		for rows.Next() {
			var item string
			if err := rows.Scan(&item); err != nil {
				return done, err
			}
			items = append(items, item)
		}
		return refrain.Result{Body: fmt.Append(nil, items)}, rows.Err()
	},
	"rows read in part": func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		rows, err := tx.QueryContext(ctx, `SELECT item FROM prices`)
		if err != nil {
			return done, err
		}
		defer rows.Close()
		rows.Next()
		return done, rows.Err()
	},
	"a prepared statement": func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		stmt, err := tx.PrepareContext(ctx, insert)
		if err != nil {
			return done, err
		}
		defer stmt.Close()
		for _, item := range []string{"tea", "coffee"} {
			if _, err := stmt.ExecContext(ctx, item); err != nil {
				return done, err
			}
		}
		return done, nil
	},
	"a prepared query": func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		stmt, err := tx.PrepareContext(ctx, `SELECT cents FROM prices WHERE item = ?`)
		if err != nil {
			return done, err
		}
		defer stmt.Close()
		var tea, coffee int
		err = stmt.QueryRowContext(ctx, "tea").Scan(&tea)
		if err == nil {
			err = stmt.QueryRowContext(ctx, "coffee").Scan(&coffee)
		}
		return refrain.Result{Body: fmt.Append(nil, tea, coffee)}, err
	},
	"rows within rows": func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		rows, err := tx.QueryContext(ctx, `SELECT item FROM prices`)
		if err != nil {
			return done, err
		}
		defer rows.Close()
		for rows.Next() {
			var item string
			if err := rows.Scan(&item); err != nil {
				return done, err
			}
			var cents int
			if err := tx.QueryRowContext(ctx, `SELECT cents FROM prices WHERE item = ?`, item).Scan(&cents); err != nil {
				return done, err
			}
		}
		return done, rows.Err()
	},
	"a bounded statement": func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		bounded, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return put(bounded, tx)
	},
	"a handler": refraintest.FromHandler(call(), func() *http.Request {
		return httptest.NewRequest("POST", "/orders", strings.NewReader("tea"))
	}, create),
}

func TestEffectSound(t *testing.T) {
	t.Parallel()
	for name, effect := range sound {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t}
			refraintest.Effect(r, openShop(t, nil), call(), effect)
			r.want(t, "")
			if len(r.notes) > 0 {
				t.Errorf("noted %q", r.notes)
			}
		})
	}
}

// create is an ordinary handler.
func create(w http.ResponseWriter, r *http.Request, tx sqlite.Tx) error {
	item, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	running, _ := refrain.CallFrom(r.Context())
	res, err := tx.ExecContext(r.Context(), `INSERT INTO orders (item, refrain_ref) VALUES (?, ?)`, string(item), running.Ref)
	if err != nil {
		return err
	}
	id, err := res.LastInsertId()
	if err != nil {
		return err
	}
	w.Header().Set("Location", fmt.Sprintf("/orders/%d", id))
	w.WriteHeader(http.StatusCreated)
	_, err = fmt.Fprintf(w, "order %d", id)
	return err
}

// TestEffectRollsBack: of all runs one stays.
func TestEffectRollsBack(t *testing.T) {
	t.Parallel()
	db, runs := openShop(t, nil), 0
	refraintest.Effect(t, db, call(), func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		runs++
		if _, err := put(ctx, tx); err != nil {
			return done, err
		}
		return put(ctx, tx)
	})
	if n := orderRows(t, db); n != 2 || runs != 7 {
		t.Errorf("%d rows of %d runs, want 2 of 7", n, runs)
	}
}

// seen is what a query gives, values and their types.
func seen(ctx context.Context, tx refrain.SQLTx) (string, error) {
	at := time.Date(2026, 3, 14, 12, 0, 0, 123000, time.UTC)
	rows, err := tx.QueryContext(ctx, `SELECT ?1 AS i, ?2 AS f, ?3 AS s, ?4 AS b, ?5 AS n, ?6 AS t, cents, item FROM prices ORDER BY item`,
		int64(1)<<53+1, 1.5, "tea", []byte{0, 1}, nil, at)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var all strings.Builder
	types, err := rows.ColumnTypes()
	if err != nil {
		return "", err
	}
	for _, c := range types {
		nullable, known := c.Nullable()
		length, limited := c.Length()
		precision, scale, decimal := c.DecimalSize()
		fmt.Fprintln(&all, c.Name(), c.DatabaseTypeName(), c.ScanType(), nullable, known, length, limited, precision, scale, decimal)
	}
	for rows.Next() {
		values := make([]any, len(types))
		into := make([]any, len(types))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return "", err
		}
		for _, v := range values {
			fmt.Fprintln(&all, reflect.TypeOf(v), v)
		}
	}
	return all.String(), rows.Err()
}

// TestWatchedHandle: an effect sees through the watched handle what it sees
// without it.
func TestWatchedHandle(t *testing.T) {
	t.Parallel()
	db := openShop(t, nil)
	var plain, watched string
	err := db.Update(t.Context(), func(ctx context.Context, tx sqlite.Tx) (err error) {
		plain, err = seen(ctx, tx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	refraintest.Effect(t, db, call(), func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		text, err := seen(ctx, tx)
		if err == nil {
			watched = text
		}
		return done, err
	})
	if plain == "" || watched != plain {
		t.Errorf("watched:\n%s\nplain:\n%s", watched, plain)
	}
}

// onConn executes on connections of database/sql, for one call.
type onConn struct {
	db   *sql.DB
	done *refrain.Outcome
}

func (o *onConn) Execute(ctx context.Context, _ refrain.Call, effect func(context.Context, *sql.Conn) (refrain.Result, error)) (refrain.Outcome, error) {
	if o.done != nil {
		return *o.done, nil
	}
	conn, err := o.db.Conn(ctx)
	if err != nil {
		return refrain.Outcome{}, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `BEGIN`); err != nil {
		return refrain.Outcome{}, err
	}
	result, err := effect(ctx, conn)
	end := `ROLLBACK`
	if err == nil {
		end, o.done = `COMMIT`, &refrain.Outcome{Result: result}
	}
	_, ended := conn.ExecContext(ctx, end)
	return refrain.Outcome{Result: result}, errors.Join(err, ended)
}

// TestEffectOnConn: a *sql.Conn is watched like a SQLTx.
func TestEffectOnConn(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(t.TempDir(), "orders.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE orders (item)`); err != nil {
		t.Fatal(err)
	}
	r := &recorder{TB: t}
	refraintest.Effect(r, &onConn{db: db}, call(), func(ctx context.Context, conn *sql.Conn) (refrain.Result, error) {
		_, _ = conn.ExecContext(ctx, `INSERT INTO orders VALUES ('tea')`)
		return done, nil
	})
	r.want(t, `statement 1, "INSERT INTO orders VALUES ('tea')", failed and the effect reported success`)
	r = &recorder{TB: t}
	refraintest.Effect(r, &onConn{db: db}, call(), func(ctx context.Context, conn *sql.Conn) (refrain.Result, error) {
		_, err := conn.ExecContext(ctx, `INSERT INTO orders VALUES ('tea')`)
		return done, err
	})
	r.want(t, "")
	if len(r.notes) > 0 {
		t.Errorf("noted %q", r.notes)
	}
}
