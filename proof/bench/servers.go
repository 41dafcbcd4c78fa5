package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain/postgres"

	"github.com/refrain-dev/refrain/proof/bench/measure"
	"github.com/refrain-dev/refrain/proof/bench/my"
	"github.com/refrain-dev/refrain/proof/bench/naked"
	"github.com/refrain-dev/refrain/proof/bench/pg"
)

// postgres compares the engine with the bare transaction, what most services do,
// and the prototype, all on one pool.
func (b bench) postgres(ctx context.Context) (err error) {
	config, drop, err := pg.Scratch(ctx, cmp.Or(os.Getenv("REFRAIN_TEST_POSTGRES"), "postgres://postgres@127.0.0.1:5432/test"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	postgres.Configure(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	n := pg.Naked{Pool: pool}
	if err := n.Create(ctx, preloaded, naked.Preloaded); err != nil {
		return err
	}
	grouping, stop := context.WithCancel(ctx)
	defer stop()
	e, err := pg.Open(ctx, pool, preloaded)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	table, err := b.suite(ctx, fmt.Sprintf("PostgreSQL, pool of %d", pg.Pool), callers, append(n.Cases(pg.NewGroup(grouping, n), preloaded), e.Cases(preloaded)...))
	if err != nil {
		return err
	}
	err = b.ratios(table, [][2]string{{"execute", "naked"}, {"replay", "naked replay"}, {"group, ids made by the database", "naked group"},
		{"execute, database/sql", "bare, database/sql"}})
	if err != nil {
		return err
	}
	web, err := pg.Serve(n, e, n.Naive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, web.Close()) }()
	if _, err := b.suite(ctx, "PostgreSQL, over HTTP on loopback", callers, web.Cases()); err != nil {
		return err
	}
	if err := pg.WAL(ctx, b.out, n, e); err != nil {
		return err
	}
	return pg.Herd(ctx, b.out, n, e)
}

// mysql does the same on MySQL or MariaDB.
func (b bench) mysql(ctx context.Context) (err error) {
	dsn, drop, err := my.Scratch(ctx, cmp.Or(os.Getenv("REFRAIN_TEST_MYSQL"), "root@tcp(127.0.0.1:3306)/test"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	n, err := my.New(ctx, dsn, preloaded)
	if err != nil {
		return err
	}
	defer n.DB.Close()
	e, err := my.Open(ctx, dsn, n, preloaded)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	table, err := b.suite(ctx, fmt.Sprintf("MySQL or MariaDB, pool of %d", my.Pool), callers, e.Cases(preloaded))
	if err != nil {
		return err
	}
	if err := b.ratios(table, [][2]string{{"execute", "naked"}, {"replay", "naked replay"}}); err != nil {
		return err
	}
	return my.Redo(ctx, b.out, e)
}

// ratios prints pairs of cases that are not case and base.
func (b bench) ratios(table measure.Table, pairs [][2]string) error {
	fmt.Fprint(b.out, "| callers |")
	for _, pair := range pairs {
		fmt.Fprintf(b.out, " %s ÷ %s |", pair[0], pair[1])
	}
	fmt.Fprintln(b.out, "\n|--"+fmt.Sprintf("%.*s", 3*len(pairs), "|--|--|--|--|--|--")+"|")
	for _, c := range callers {
		fmt.Fprintf(b.out, "| %d |", c)
		for _, pair := range pairs {
			ratio, err := table.Ratio(c, pair[0], pair[1])
			if err != nil {
				return err
			}
			fmt.Fprintf(b.out, " %.2f (%.2f–%.2f) |", ratio.Median, ratio.Min, ratio.Max)
		}
		fmt.Fprintln(b.out)
	}
	_, err := fmt.Fprintln(b.out)
	return err
}
