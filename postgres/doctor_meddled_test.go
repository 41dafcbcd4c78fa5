package postgres

import "testing"

// A record that a rule or a trigger does away with lets its effect run again.
func TestKeeperDoctorMeddled(t *testing.T) {
	k := newKeeper(t, "pgx")
	k.setup(t, `CREATE FUNCTION {schema}.swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`)
	k.setup(t, `CREATE TRIGGER late AFTER INSERT ON {schema}.record FOR EACH ROW EXECUTE FUNCTION {schema}.swallow()`)
	if c := checkOf(t, k, "tables"); !c.OK {
		t.Errorf("a trigger after rows: %+v", c)
	}
	for _, made := range [][2]string{
		{`CREATE TRIGGER swallow BEFORE INSERT ON {schema}.record FOR EACH ROW EXECUTE FUNCTION {schema}.swallow()`, `DROP TRIGGER swallow ON {schema}.record`},
		{`CREATE RULE swallow AS ON DELETE TO {schema}.record DO INSTEAD NOTHING`, `DROP RULE swallow ON {schema}.record`},
	} {
		k.setup(t, made[0])
		if c := checkOf(t, k, "tables"); c.OK || !c.Vital || c.Value != "record has a rule or a trigger before rows" {
			t.Errorf("%s: %+v", made[0], c)
		}
		k.setup(t, made[1])
		if c := checkOf(t, k, "tables"); !c.OK {
			t.Errorf("after %s: %+v", made[1], c)
		}
	}
}
