package sqlite

import (
	"strings"
	"testing"
	"time"
)

// explain is what SQLite would do for a query.
func explain(t *testing.T, db *DB, query string, args ...any) string {
	t.Helper()
	rows, err := db.Reader().Query(`EXPLAIN QUERY PLAN `+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(steps, "\n")
}

// Each look at operations goes through an index in which settled ones are not,
// and sorts nothing.
func TestOperationPlans(t *testing.T) {
	db := openShop(t)
	now := time.Now().UnixMicro()
	for name, tt := range map[string]struct {
		query string
		args  []any
		want  []string
	}{
		"due": {dueSQL, []any{"pay", now, 1, 10}, []string{
			"SEARCH e USING INDEX refrain_external_due (provider=? AND due<?)",
			"SEARCH h USING INDEX refrain_external_head (provider=? AND partition=? AND seq<?)",
		}},
		"some due": {someDueSQL, []any{"pay", now}, []string{"SEARCH refrain_external USING COVERING INDEX refrain_external_due (provider=? AND due<?)"}},
		"head":     {headSQL, []any{"pay", "order-1"}, []string{"SEARCH h USING INDEX refrain_external_head (provider=? AND partition=?)"}},
		"release": {releaseSQL, []any{"pay", "order-1", now, 7, 2}, []string{
			"SEARCH refrain_external USING INTEGER PRIMARY KEY (rowid=?)",
			"SEARCH h USING INDEX refrain_external_head (provider=? AND partition=?)",
		}},
		"forget": {forgetOperationsSQL, []any{now, 4, 5, 1, 10}, []string{
			"SEARCH e USING INDEX refrain_external_final (final<?)",
			"SEARCH r USING COVERING INDEX refrain_record_ref (ref=?)",
		}},
		"of": {`SELECT ` + operationColumns + ` FROM refrain_external e WHERE e.action = ? ORDER BY e.seq`, []any{"op_"},
			[]string{"SEARCH e USING INDEX refrain_external_step (action=?)"}},
	} {
		got := explain(t, db, tt.query, tt.args...)
		for _, step := range tt.want {
			if !strings.Contains(got, step) {
				t.Errorf("%s: no step %q in\n%s", name, step, got)
			}
		}
		if strings.Contains(strings.ReplaceAll(got, "SCAN CONSTANT ROW", ""), "SCAN") || strings.Contains(got, "TEMP B-TREE") && name != "of" {
			t.Errorf("%s scans or sorts:\n%s", name, got)
		}
	}
}
