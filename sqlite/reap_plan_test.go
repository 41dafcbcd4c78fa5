package sqlite

import (
	"strings"
	"testing"
)

// Whatever a reaper, a walk or a rule looks for is a range of an index: what it
// costs does not depend on how many records there are.
func TestRetentionPlans(t *testing.T) {
	db := openShop(t)
	for name, tt := range map[string]struct {
		query string
		args  []any
		want  []string
	}{
		"something": {someToReapSQL, []any{1, "op_", 1}, []string{
			"SEARCH refrain_span USING COVERING INDEX refrain_span_due (due<?)",
			"SEARCH refrain_record USING COVERING INDEX refrain_record_ref (ref>? AND ref<?)",
			"SEARCH refrain_span USING PRIMARY KEY (last>?)",
		}},
		"due":    {dueSpanSQL, []any{1}, []string{"SEARCH refrain_span USING INDEX refrain_span_due (due<?)"}},
		"newest": {newestSpanSQL, nil, nil}, // a scan that ends with its first row
		"back":   {setBackSQL, []any{1, "op_"}, []string{"SEARCH refrain_span USING PRIMARY KEY (last>?)"}},
		"merge":  {mergeSQL, []any{"op_", "op_"}, []string{"SEARCH refrain_span USING PRIMARY KEY (last=?)", "SEARCH refrain_span USING PRIMARY KEY (last>?)"}},
		"rows": {spanRowsSQL, []any{"", "op_", 10}, []string{
			"SEARCH r USING INDEX refrain_record_ref (ref>? AND ref<?)",
			"SEARCH e USING INDEX refrain_external_step (action=?)",
		}},
		"forget": {forgetSQL, []any{`["op_"]`}, []string{"SEARCH refrain_record USING COVERING INDEX refrain_record_ref (ref=?)"}},
		"trim":   {trimSQL, []any{`["op_"]`}, []string{"SEARCH r USING COVERING INDEX refrain_record_ref (ref=?)"}},
		"walk":   {walkSQL, []any{"", 10}, []string{"SEARCH r USING INDEX refrain_record_ref (ref>?)"}},
		"onces":  {oncesSQL, []any{"rule", []byte("a"), 10}, []string{"SEARCH refrain_once USING PRIMARY KEY (rule=? AND value>?)"}},
	} {
		got := explain(t, db, tt.query, tt.args...)
		for _, step := range tt.want {
			if !strings.Contains(got, step) {
				t.Errorf("%s: no step %q in\n%s", name, step, got)
			}
		}
		left := strings.NewReplacer("SCAN CONSTANT ROW", "", "SCAN json_each VIRTUAL TABLE", "", "SCAN j VIRTUAL TABLE", "").Replace(got)
		if strings.Contains(left, "SCAN") && name != "newest" || strings.Contains(left, "TEMP B-TREE") {
			t.Errorf("%s scans or sorts:\n%s", name, got)
		}
	}
}
