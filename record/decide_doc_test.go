package record

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// actions are the words the documentation has for them.
var actions = map[Action]string{
	Execute: "execute", Pass: "pass", Replay: "replay", Wait: "wait", Current: "current state", Refuse: "refuse",
}

// documentedRows reads the table of the documentation: cells by row.
func documentedRows(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile("../docs/decision-table.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		inner, isRow := strings.CutPrefix(strings.TrimSpace(line), "| ")
		if !isRow || strings.HasPrefix(inner, "# ") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(inner, "|"), "|")
		if len(cells) != 8 {
			t.Fatalf("%d cells in %q", len(cells), line)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

// TestDecisionTableIsDocumented compares the page with Decide, both ways.
func TestDecisionTableIsDocumented(t *testing.T) {
	t.Parallel()
	decided := map[string]bool{}
	for _, c := range decideCases() {
		d := c.decide()
		decided[fmt.Sprint(d.Row, " ", actions[d.Action], " ", string(d.Problem))] = true
	}
	decided["– refuse handler-failed"] = true // no question of Decide's: the effect's own failure
	told := map[Problem]bool{}
	documented := map[string]bool{}
	for _, cells := range documentedRows(t) {
		number, decision, runs, status, problem, retryable := cells[0], cells[3], cells[4], cells[5], Problem(strings.Trim(cells[6], "`")), cells[7]
		line := fmt.Sprint(number, " ", decision, " ", string(problem))
		if documented[line] {
			t.Errorf("%q is documented twice", line)
		}
		documented[line] = true
		if !decided[line] {
			t.Errorf("%q is documented and never decided", line)
		}
		wantRuns := "no"
		switch {
		case decision == "execute" || decision == "pass":
			wantRuns = "yes"
		case problem == CommitUnknown:
			wantRuns = "?"
		}
		if runs != wantRuns {
			t.Errorf("%q: effect runs %s, want %s", line, runs, wantRuns)
		}
		wantStatus := map[string]string{"execute": "the handler's", "pass": "the handler's", "replay": "stored", "current state": "202"}[decision]
		wantRetry := ""
		if problem != "" {
			told[problem] = true
			wantStatus, wantRetry = strconv.Itoa(problem.Status()), strconv.FormatBool(problem.Retryable())
		}
		if status != wantStatus || retryable != wantRetry {
			t.Errorf("%q: HTTP %s, retryable %q; the code says %s, %q", line, status, retryable, wantStatus, wantRetry)
		}
	}
	for line := range decided {
		if !documented[line] {
			t.Errorf("%q is decided and not documented", line)
		}
	}
	for _, p := range Problems() {
		if !told[p] {
			t.Errorf("%s is not documented", string(p))
		}
	}
}

// TestDecisionTableOrder: the page lists the rows that are checked first, first.
func TestDecisionTableOrder(t *testing.T) {
	t.Parallel()
	var order []string
	for _, cells := range documentedRows(t) {
		if !slices.Contains(order, cells[0]) {
			order = append(order, cells[0])
		}
	}
	want := []string{"12", "11", "13", "1", "2", "2b", "2c", "3", "4", "5", "6", "6a", "6b", "7", "8", "9", "10", "14", "15", "16", "–"}
	if !slices.Equal(order, want) {
		t.Errorf("rows are listed as %q, want %q", order, want)
	}
}
