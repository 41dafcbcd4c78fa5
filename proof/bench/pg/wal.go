package pg

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/refrain-dev/refrain/proof/bench/naked"
)

// WAL writes how many bytes of write-ahead log an operation costs: after 20,000
// of its own, over the next 4,000 from eight callers.
func WAL(ctx context.Context, w io.Writer, n Naked, e *Engine) error {
	rows := []struct {
		name string
		run  func(context.Context, string) error
		key  func() string
	}{
		{"bare", func(ctx context.Context, _ string) error { return n.Bare(ctx) }, naked.RandomKey},
		{"usual layout, select, insert, effect, update", n.Naive, naked.RandomKey},
		{"usual layout, reserve, then complete", n.Reserved, naked.RandomKey},
		{"execute, random keys", e.Execute, naked.RandomKey},
		{"execute, time-ordered keys", e.Execute, naked.OrderedKey},
	}
	if _, err := fmt.Fprintf(w, "#### Write-ahead log per operation\n\n| case | bytes |\n|--|--|\n"); err != nil {
		return err
	}
	for _, row := range rows {
		many := func(count int) error {
			var wg sync.WaitGroup
			errs := make(chan error, Pool)
			for range Pool {
				wg.Go(func() {
					for range count / Pool {
						if err := row.run(ctx, row.key()); err != nil {
							errs <- err
							return
						}
					}
				})
			}
			wg.Wait()
			close(errs)
			return <-errs
		}
		if err := many(20_000); err != nil {
			return err
		}
		var before, bytes int64
		const position = `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`
		if err := n.Pool.QueryRow(ctx, position).Scan(&before); err != nil {
			return err
		}
		const measured = 4000
		if err := many(measured); err != nil {
			return err
		}
		if err := n.Pool.QueryRow(ctx, position).Scan(&bytes); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "| %s | %d |\n", row.name, (bytes-before)/measured); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}
