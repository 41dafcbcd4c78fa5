package mysql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/record"
)

// Late retries of one scope do not fill the table: beyond the cap only those are
// counted that are kept already.
func TestReviewsAreCapped(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	must(t, s.raw, "INSERT INTO refrain_fence (operation, scope, until, reason, `by`, at) VALUES ('', '', 1767225600000000, '', '', 0)")
	late := func(n int) error {
		return errOf(db.Execute(t.Context(), order(fmt.Sprintf("01943000-0000-7000-8000-%012d", n)), buys("late")))
	}
	wantRow(t, late(1), "2", record.TooLate)
	rows := make([]string, reviewsPerScope-1)
	for i := range rows {
		rows[i] = fmt.Sprintf("(x'%032x', 'tenant=north', 'orders.create', '', '', '', '', '', 1, 1, 1)", i)
	}
	must(t, s.raw, "INSERT INTO refrain_review VALUES "+strings.Join(rows, ", "))
	for range 2 {
		wantRow(t, late(2), "2", record.TooLate)
		wantRow(t, late(1), "2", record.TooLate)
	}
	if kept := column(t, s.raw, `SELECT count FROM refrain_review WHERE last > 1`); len(kept) != 1 || kept[0] != "3" {
		t.Errorf("counts %q", kept)
	}
}
