package postgres

import (
	"context"
	"strings"

	"github.com/refrain-dev/refrain/upkeep"
)

const (
	usageText = `SELECT current_user::text, has_schema_privilege(to_regnamespace($1::text)::oid, 'USAGE')`
	rightText = `SELECT has_table_privilege($1::text, $2::text)`

	// Row security hides rows from whoever is not the owner, or forced from
	// everybody but superusers. A rule, or a trigger before each row (a type of 1 for
	// rows and 2 for before), can do away with what is written.
	tableText = `SELECT c.relname::text, c.relpersistence::text, row_security_active(c.oid),
 EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = c.oid) OR EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled <> 'D' AND t.tgtype & 3 = 3)
FROM pg_class c
WHERE c.relnamespace = to_regnamespace($1::text) AND c.relkind IN ('r', 'p') ORDER BY 1`

	columnsText = `SELECT coalesce(string_agg(a.attname::text, ', ' ORDER BY a.attnum), '') FROM pg_attribute a
WHERE a.attrelid = to_regclass($1::text) AND a.attnum > 0 AND NOT a.attisdropped`
)

// tables checks what the current user may do with our tables and what they are.
func (s *Store) tables(ctx context.Context) ([]upkeep.Check, error) {
	var user string
	var usage bool
	if err := s.read.row(ctx, usageText, s.sql.schema).Scan(&user, &usage); err != nil {
		return nil, err
	}
	if !usage {
		return []upkeep.Check{privileges("missing: USAGE on the schema", false)}, nil
	}
	var missing []string
	for _, g := range grants {
		for right := range strings.SplitSeq(g.rights, ", ") {
			var has bool
			if err := s.read.row(ctx, rightText, s.sql.schema+"."+g.table, right).Scan(&has); err != nil {
				return nil, err
			}
			if !has {
				missing = append(missing, right+" on "+g.table)
			}
		}
	}
	var wrong []string
	err := each(ctx, s.read, func(r scanner) error {
		var name, persistence string
		var hidden, meddled bool
		err := r.Scan(&name, &persistence, &hidden, &meddled)
		if persistence != "p" {
			wrong = append(wrong, name+" is not logged")
		}
		if hidden {
			wrong = append(wrong, name+" has row security")
		}
		if meddled {
			wrong = append(wrong, name+" has a rule or a trigger before rows")
		}
		return err
	}, tableText, s.sql.schema)
	if err != nil {
		return nil, err
	}
	var columns string
	if err := s.read.row(ctx, columnsText, s.sql.schema+".record").Scan(&columns); err != nil {
		return nil, err
	}
	if columns != "" && !strings.HasPrefix(columns+",", columnNames+",") { // rows are read whole
		wrong = append(wrong, "record has other columns, or in another order")
	}
	return []upkeep.Check{
		privileges(told(missing, "of "+user+": complete", "missing: "), len(missing) == 0),
		{Setting: "tables", Value: told(wrong, "logged, no row security, no rules", ""), Want: "logged, no row security, no rules and triggers before rows, columns as Migrate makes them", OK: len(wrong) == 0, Vital: true,
			Why: "an unlogged table is emptied by a crash, and a hidden record reads as none, one that a trigger did away with lets its effect run again, columns in another order are taken for one another",
			Fix: "ALTER TABLE … SET LOGGED; ALTER TABLE … DISABLE ROW LEVEL SECURITY; DROP TRIGGER, DROP RULE; columns of one's own behind ours"},
	}, nil
}

func privileges(value string, ok bool) upkeep.Check {
	return upkeep.Check{Setting: "privileges", Value: value, Want: "complete", OK: ok, Vital: true,
		Why: "the engine reads and writes its own tables", Fix: "run what Grants returns, as the owner of the tables"}
}

func told(faults []string, fine, prefix string) string {
	if len(faults) == 0 {
		return fine
	}
	return prefix + strings.Join(faults, ", ")
}
