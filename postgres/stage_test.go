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
}

func newStage(t testing.TB) stage {
	s := newShop(t, Options{})
	return stage{s.opts.Schema, s.raw}
}

// shop is newShop on the stage.
func (st stage) shop(t testing.TB, opts Options, dress ...func(*pgxpool.Config)) *shop {
	t.Helper()
	opts.Schema = st.schema
	s := openShop(t, keeperURL(t), opts, dress...)
	s.raw = st.raw
	s.sql0(t, clearing("orders"))
	return s
}

// sqlShop is newSQLShop on the stage.
func (st stage) sqlShop(t testing.TB, driver string, opts Options, change ...func(url string) *sql.DB) *sqlShop {
	t.Helper()
	opts.Schema = st.schema
	s := openSQLShop(t, driver, keeperURL(t), opts, change...)
	s.raw = st.raw
	s.past(t, clearing("orders"))
	return s
}

// cleared is another bed on the same schema, which is a stage to it.
func (b *groupBed) cleared(t testing.TB, opts Options) *groupBed {
	t.Helper()
	next := &groupBed{schema: b.schema, name: b.name, raw: b.raw}
	next.connect(t, opts)
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
