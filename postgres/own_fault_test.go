package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
)

// COMMIT that fails of what the effect wrote is the effect's failure, whatever
// state it fails with.
func TestCommitRefused(t *testing.T) {
	deferred := func(state string) string {
		return fmt.Sprintf(`CREATE FUNCTION {schema}.no() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '%s'; END $$;
CREATE CONSTRAINT TRIGGER no AFTER INSERT ON {schema}.orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {schema}.no()`, state)
	}
	for state, row := range map[string]string{"22012": "", "45000": "", "P0001": "", "23514": "", "53100": "9", "57014": "9"} {
		s := newShop(t, Options{})
		s.sql0(t, deferred(state))
		q := openSQLShop(t, "pgx", keeperURL(t), s.opts)
		for engine, err := range map[string]error{
			"DB":  s.run(keeperCall("k"), s.put("k")),
			"SQL": q.do(keeperCall("k"), (&sqlShop{SQL: q.SQL, raw: s.raw}).put("k")),
		} {
			t.Log(engine, state)
			if row != "" {
				wantRow(t, err, row, refrain.ErrUnavailable)
			} else if !errors.Is(err, refrain.ErrEffectFailed) {
				t.Errorf("%v, want the effect's failure", err)
			}
		}
	}
}

// A trigger that swallows the record takes the effect with it.
func TestRecordSwallowed(t *testing.T) {
	b := newGroupBed(t, Options{})
	b.warm(t)
	for _, made := range []struct{ name, ddl string }{ // with the rule nothing reaches the trigger
		{"trigger", `CREATE FUNCTION ` + b.schema + `.eat() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER eat BEFORE INSERT ON ` + b.schema + `.record FOR EACH ROW EXECUTE FUNCTION ` + b.schema + `.eat()`},
		{"rule", `DROP TRIGGER IF EXISTS eat ON ` + b.schema + `.record; CREATE RULE eat AS ON INSERT TO ` + b.schema + `.record DO INSTEAD NOTHING`},
	} {
		if _, err := b.raw.Exec(t.Context(), made.ddl); err != nil {
			t.Fatal(err)
		}
		q := openSQLShop(t, "pgx", keeperURL(t), b.db.opts)
		call := groupCall("k")
		call.Contract.MaxExecution = time.Second
		for engine, run := range map[string]func() error{
			"Group": func() error { _, err := b.group.Execute(t.Context(), call, b.inserts("k")); return err },
			"Send":  func() error { _, err := b.group.Execute(t.Context(), call, b.returns("k")); return err },
			"DB": func() error {
				_, err := b.db.Execute(t.Context(), call, func(ctx context.Context, tx Tx) (refrain.Result, error) {
					_, err := tx.Exec(ctx, `INSERT INTO `+b.schema+`.effects (id) VALUES ('k')`)
					return done, err
				})
				return err
			},
			"SQL": func() error {
				return q.do(call, func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
					_, err := tx.ExecContext(ctx, `INSERT INTO `+b.schema+`.effects (id) VALUES ('k')`)
					return done, err
				})
			},
		} {
			if err := run(); err == nil {
				t.Errorf("%s, %s: no error", made.name, engine)
			}
		}
	}
	if n := b.effects(t)["k"]; n != 0 {
		t.Errorf("%d effects without a record", n)
	}
}

// One swallowed record among those of a group is noticed, and is its own call's
// fault alone.
func TestGroupRecordSwallowed(t *testing.T) {
	b := newGroupBed(t, Options{})
	b.warm(t)
	if _, err := b.raw.Exec(t.Context(), `CREATE FUNCTION `+b.schema+`.eat() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN IF NEW.key LIKE '%1'::bytea THEN RETURN NULL; END IF; RETURN NEW; END $$;
CREATE TRIGGER eat BEFORE INSERT ON `+b.schema+`.record FOR EACH ROW EXECUTE FUNCTION `+b.schema+`.eat()`); err != nil {
		t.Fatal(err)
	}
	for how, effect := range map[string]func(string) batchEffect{"inserts": b.inserts, "returns": b.returns} {
		keys := []string{how + "0", how + "1", how + "2"}
		results := b.together(t, keys, effect)
		for i, key := range keys {
			if err := results[key].err; (err != nil) != (i == 1) {
				t.Errorf("%s: %v", key, err)
			}
		}
		effects := b.effects(t)
		for i, want := range []int{1, 0, 1} {
			same(t, "effects of "+keys[i], effects[keys[i]], want)
		}
	}
}

// Statements an effect deallocated are prepared anew.
func TestDeallocated(t *testing.T) {
	s := newShop(t, Options{}, func(c *pgxpool.Config) { c.MaxConns = 1 })
	if err := s.run(keeperCall("warm"), s.put("warm")); err != nil {
		t.Fatal(err)
	}
	err := s.run(keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := tx.Exec(ctx, `DEALLOCATE ALL`)
		return done, err
	})
	if err != nil {
		t.Errorf("it: %v", err)
	}
	for _, key := range []string{"a", "b", "warm", "k"} {
		if err := s.run(keeperCall(key), s.put(key)); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}
