package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/refrain-dev/refrain"
)

// A deadlock rolls the whole transaction back. An effect that swallows the error
// and goes on cannot commit its second half: it runs again.
func TestSwallowedDeadlock(t *testing.T) {
	for name, open := range kinds {
		for _, prepared := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/prepared=%t", name, prepared), func(t *testing.T) {
				s := newShop(t)
				must(t, s.raw, `CREATE TABLE stock (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB`, `INSERT INTO stock VALUES (1, 0), (2, 0)`,
					`INSERT INTO stock SELECT n + 10, 0 FROM `+numbers(490))
				db := open(t, s.cfg, Options{})
				other, err := s.raw.Begin()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = other.Rollback() }()
				// The heavier transaction survives.
				if _, err := other.Exec(`UPDATE stock SET n = n + 1 WHERE id = 1 OR id >= 10`); err != nil {
					t.Fatal(err)
				}
				runs := 0
				err = run(db, "k", func(ctx context.Context, tx Tx) (refrain.Result, error) {
					runs++
					first := runs == 1
					if _, err := tx.ExecContext(ctx, `INSERT INTO effects (id) VALUES (?)`, fmt.Sprint("first half of run ", runs)); err != nil {
						return made, err
					}
					if first {
						if _, err := tx.ExecContext(ctx, `UPDATE stock SET n = n + 1 WHERE id = 2`); err != nil {
							return made, err
						}
						ended := make(chan error, 1)
						go func() {
							_, err := other.Exec(`UPDATE stock SET n = n + 1 WHERE id = 2`)
							ended <- errors.Join(err, other.Commit())
						}()
						s.awaitLockWait(t, 1)
						swallow(ctx, tx, prepared, `UPDATE stock SET n = n + 1 WHERE id = 1`)
						if err := <-ended; err != nil {
							t.Error(err)
						}
					}
					_, err := tx.ExecContext(ctx, `INSERT INTO effects (id) VALUES (?)`, fmt.Sprint("second half of run ", runs))
					if first && name == "New" {
						err = nil
					}
					return made, err
				})
				switch {
				case name == "New" && prepared: // nobody saw the error: the marker notices, and what was written meanwhile is the effect's own
					if !errors.Is(err, errGone) {
						t.Errorf("%v, want %v", err, errGone)
					}
					s.receipts(t, 0)
				case err != nil || runs != 2:
					t.Errorf("%d runs, %v", runs, err)
				default:
					s.wants(t, "first half of run 2", "second half of run 2")
					s.receipts(t, 1)
				}
			})
		}
	}
}

func swallow(ctx context.Context, tx Tx, prepared bool, query string) {
	if !prepared {
		_, _ = tx.ExecContext(ctx, query)
		return
	}
	if stmt, err := tx.PrepareContext(ctx, query); err == nil {
		_, _ = stmt.ExecContext(ctx)
		_ = stmt.Close()
	}
}

// A lock timeout undoes its statement alone, so the transaction looks whole to
// the server: the handle is poisoned.
func TestSwallowedLockTimeout(t *testing.T) {
	s := newShop(t)
	must(t, s.raw, `CREATE TABLE stock (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB`, `INSERT INTO stock VALUES (1, 0)`)
	cfg := s.cfg.Clone()
	cfg.Params = map[string]string{"innodb_lock_wait_timeout": "1"}
	for name, swallows := range map[string]func(context.Context, Tx){
		"exec":     func(ctx context.Context, tx Tx) { swallow(ctx, tx, false, `UPDATE stock SET n = 1`) },
		"prepared": func(ctx context.Context, tx Tx) { swallow(ctx, tx, true, `UPDATE stock SET n = 1`) },
		"row": func(ctx context.Context, tx Tx) {
			var n int
			_ = tx.QueryRowContext(ctx, `SELECT n FROM stock FOR UPDATE`).Scan(&n)
		},
		"rows": func(ctx context.Context, tx Tx) {
			if rows, err := tx.QueryContext(ctx, `SELECT n FROM stock WHERE n >= ? FOR UPDATE`, 0); err == nil {
				for rows.Next() {
				}
				_ = rows.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := opened(t, cfg, Options{})
			other, err := s.raw.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = other.Rollback() }()
			if _, err := other.Exec(`UPDATE stock SET n = 2`); err != nil {
				t.Fatal(err)
			}
			err = run(db, "k", func(ctx context.Context, tx Tx) (refrain.Result, error) {
				swallows(ctx, tx)
				_, err := tx.ExecContext(ctx, `INSERT INTO effects (id) VALUES ('half')`)
				if number(err) != errLockWait {
					t.Errorf("the next statement: %v, want the first error again", err)
				}
				return made, nil
			})
			if number(err) != errLockWait {
				t.Errorf("%v, want the lock timeout", err)
			}
			wantRow(t, err, "9", refrain.ErrUnavailable)
			s.wants(t)
			s.receipts(t, 0)
		})
	}
}

// What an effect leaves open neither keeps its connection nor its lock.
func TestLeftOpen(t *testing.T) {
	s := newShop(t)
	must(t, s.raw, `INSERT INTO effects SELECT n FROM `+numbers(5000))
	db := opened(t, s.cfg, Options{Connections: 1})
	var kept []*sql.Rows
	leave := map[string]func(context.Context, Tx) (*sql.Rows, error){
		"rows": func(ctx context.Context, tx Tx) (*sql.Rows, error) {
			return tx.QueryContext(ctx, `SELECT id FROM effects`)
		},
		"statement": func(ctx context.Context, tx Tx) (*sql.Rows, error) {
			stmt, err := tx.PrepareContext(ctx, `SELECT id FROM effects WHERE id > ?`)
			if err != nil {
				return nil, err
			}
			return stmt.QueryContext(ctx, 0)
		},
	}
	failed := errors.New("no")
	for name, open := range leave {
		for _, end := range []error{nil, failed} {
			err := run(db, name+fmt.Sprint(end), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				rows, err := open(ctx, tx)
				if err != nil {
					return made, err
				}
				rows.Next()
				kept = append(kept, rows)
				return made, end
			})
			if !errors.Is(err, end) {
				t.Errorf("%s: %v, want %v", name, err, end)
			}
			s.unlocked(t, order(name+fmt.Sprint(end)))
		}
	}
	usable(t, db)
	for _, rows := range kept {
		if rows.Next() {
			t.Error("rows of an effect that is over")
		}
		_ = rows.Close()
	}
}
