package ext

import (
	"context"
	"fmt"
	"strings"

	"github.com/refrain-dev/refrain/sqlite"
)

// SQLite is a shop on one file.
func SQLite(ctx context.Context, path string) (Shop[sqlite.Tx], func() error, error) {
	db, err := sqlite.Open(path)
	if err != nil {
		return Shop[sqlite.Tx]{}, nil, err
	}
	closed := func() error { return db.Close(context.WithoutCancel(ctx)) }
	if err := db.Migrate(ctx); err != nil {
		return Shop[sqlite.Tx]{}, closed, err
	}
	if err := db.Setup(ctx, `CREATE TABLE payments (id INTEGER PRIMARY KEY, state TEXT NOT NULL)`); err != nil {
		return Shop[sqlite.Tx]{}, closed, err
	}
	begin := func(ctx context.Context, tx sqlite.Tx, id int64) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO payments VALUES (?, 'pending')`, id)
		return err
	}
	end := func(ctx context.Context, tx sqlite.Tx, id int64) error {
		_, err := tx.ExecContext(ctx, `UPDATE payments SET state = 'paid' WHERE id = ?`, id)
		return err
	}
	return Shop[sqlite.Tx]{
		Name: "SQLite, WAL, synchronous=FULL", Engine: db, Store: db.Operations(), Begin: begin, End: end,
		Pair: func(ctx context.Context, id int64) error {
			for _, half := range []func(context.Context, sqlite.Tx, int64) error{begin, end} {
				if err := db.Update(ctx, func(ctx context.Context, tx sqlite.Tx) error { return half(ctx, tx, id) }); err != nil {
					return err
				}
			}
			return nil
		},
		Clone: func(ctx context.Context, count int, due bool) error {
			when := `NULL, created, 4, created`
			if due {
				when = `created, created, 1, NULL`
			}
			return db.Setup(ctx, fmt.Sprintf(`INSERT INTO refrain_external (ref, version, step, provider, partition, disputed, format, data, input, due, created, state, final)
SELECT 'op_0' || substr(lower(hex(randomblob(14))), 1, 27) || '0', 1, step, 'bench', '', 0, format, data, input, %s
FROM (SELECT * FROM refrain_external LIMIT 1), (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n)`, when, count))
		},
		Plan: func(ctx context.Context, provider string) (string, error) {
			rows, err := db.Reader().QueryContext(ctx, `EXPLAIN QUERY PLAN SELECT * FROM refrain_external WHERE provider = ? AND due <= ? ORDER BY due LIMIT 64`, provider, int64(1)<<62)
			if err != nil {
				return "", err
			}
			defer rows.Close()
			var plan []string
			for rows.Next() {
				var id, parent, unused int
				var line string
				if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
					return "", err
				}
				plan = append(plan, line)
			}
			return strings.Join(plan, "\n"), rows.Err()
		},
	}, closed, nil
}
