package postgres

import (
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// stage is a schema on which the properties of a suite are played one after
// another, with connections they share: to make either takes longer than most of
// them.
type stage struct {
	schema string
	raw    *pgxpool.Pool // past the engine
	pool   *pgxpool.Pool
}

func newStage(t testing.TB) stage {
	s := newShop(t, Options{})
	return stage{s.opts.Schema, s.raw, s.conns}
}

// shop is newShop on the stage.
func (st stage) shop(t testing.TB, opts Options) *shop {
	t.Helper()
	opts.Schema = st.schema
	s := shopOn(t, st.pool, opts)
	s.raw = st.raw
	s.sql0(t, clearing("orders"))
	return s
}

// sqlStage is a stage for a driver of database/sql.
type sqlStage struct {
	schema string
	raw    *pgxpool.Pool // past the engine
	pool   *sql.DB
}

func newSQLStage(t testing.TB, driver string) sqlStage {
	s := newSQLShop(t, driver, Options{})
	return sqlStage{s.opts.Schema, s.raw, s.handle}
}

// shop is newSQLShop on the stage.
func (st sqlStage) shop(t testing.TB, opts Options) *sqlShop {
	t.Helper()
	opts.Schema = st.schema
	s := sqlShopOn(t, st.pool, opts)
	s.raw = st.raw
	s.past(t, clearing("orders"))
	return s
}

// cleared is another bed on the same schema, which is a stage to it.
func (b *groupBed) cleared(t testing.TB, opts Options) *groupBed {
	t.Helper()
	next := &groupBed{schema: b.schema, name: b.name, raw: b.raw}
	next.on(t, b.pool, opts)
	if _, err := b.raw.Exec(t.Context(), next.db.sql.text(clearing("effects"))); err != nil {
		t.Fatal(err)
	}
	return next
}

// clearing makes the tables what Migrate leaves, in one transaction; table is the
// suite's own.
func clearing(table string) string {
	text := `DELETE FROM {schema}.` + table + `;
DELETE FROM {schema}.migration WHERE checksum = 'x';
UPDATE {schema}.store SET id = gen_random_uuid(), epoch = 1, counter = 0;
`
	for _, g := range grants {
		if g.table != "migration" && g.table != "store" {
			text += "DELETE FROM {schema}." + g.table + ";\n"
		}
	}
	return text
}
