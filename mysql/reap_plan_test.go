package mysql

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// A batch costs what it looks at, whatever there is beside it.
func TestReapReadsOnlyItsSpan(t *testing.T) {
	a := newAged(t)
	mustBuy(t, a.db, order("first"))
	a.now = a.now.Add(time.Millisecond)
	const n = 4000
	fill(t, a.shop, n, a.now)
	must(t, a.raw, "INSERT INTO refrain_external (ref, action, step, provider, `partition`, version, format, state, disputed, created, data, input)"+
		" SELECT ref, ref, 's', 'bank', '', 1, 1, 1, 0, 1, '{}', '' FROM refrain_record WHERE n % 2 = 0",
		`ANALYZE TABLE refrain_record, refrain_external`)
	a.now = a.now.Add(2 * time.Minute)
	for range n/10 - 10 { // many spans, and some records behind them
		a.reapAny(t, 10)
	}
	must(t, a.raw, `ANALYZE TABLE refrain_span`)
	from := encodeRef(a.tiled(t)[200].After)
	last := encodeRef(a.tiled(t)[200].Last)
	end, refs := encodeRef(record.RefAt(a.now)), []any{from, last}
	conn := mustConn(t, a.raw)
	for name, st := range map[string]statement{
		"overdue":   {query: overdueSQL + unheld, args: []any{a.now.Add(2 * time.Hour).UnixMicro(), last}},
		"newest":    {query: newestSQL},
		"next":      {query: nextSQL, args: []any{last}},
		"this":      {query: thisSQL + unheld, args: []any{last}},
		"inhabited": {query: inhabitedSQL, args: []any{from, last}},
		"behind":    {query: behindSQL, args: []any{last, end}},
		"span":      {query: inSpanSQL, args: []any{from, last, 11}},
		"new":       {query: newSQL, args: []any{last, end, 10}},
		"pending":   {query: pendingSQL + marks(len(refs)) + `)` + every, args: refs},
		"lock":      {query: lockRowsSQL + marks(2) + `)` + every + unheld, args: []any{100, 2000}},
		"walk":      {query: pageSQL + `r.ref > ? ORDER BY r.ref LIMIT ?`, args: []any{last, 10}},
	} {
		if rows, read := handled(t, conn, st); rows == 0 && name != "pending" || read > 4*rows+8 {
			t.Errorf("%s read %d rows for %d", name, read, rows)
		}
	}
}

// handled runs a statement and tells how many rows it gave and how many the server
// read for it.
func handled(t *testing.T, conn *sql.Conn, st statement) (rows, read int) {
	t.Helper()
	for _, text := range []string{`FLUSH STATUS`, `START TRANSACTION`} {
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	count := func(q runner, query string, args []any, each func(*sql.Rows) error) {
		all, err := q.QueryContext(t.Context(), query, args...)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		defer all.Close()
		for all.Next() {
			if err := each(all); err != nil {
				t.Fatal(err)
			}
		}
		if err := all.Err(); err != nil {
			t.Fatal(err)
		}
	}
	count(inlined{conn}, st.query, st.args, func(*sql.Rows) error { rows++; return nil })
	count(conn, `SHOW SESSION STATUS LIKE 'Handler_read%'`, nil, func(all *sql.Rows) error {
		r, err := scanAny(all, 2)
		read += int(r.integer(1))
		return err
	})
	if _, err := conn.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	return rows, read
}

// fill adds n records like those of order, made at now.
func fill(t testing.TB, s shop, n int, now time.Time) {
	t.Helper()
	cfg := s.cfg.Clone()
	cfg.InterpolateParams = true
	pool := poolOf(t, cfg)
	into, values, _ := strings.Cut(insertSQL, "VALUES")
	_, values, _ = strings.Cut(values, ", ?, NULL)") // behind the condition
	for from := 0; from < n; from += batch {
		var rows []string
		var args []any
		for i := from; i < min(from+batch, n); i++ {
			claim, err := order(fmt.Sprint("filled ", i)).Claim()
			if err != nil {
				t.Fatal(err)
			}
			rec := claim.Begin(now)
			rec.Settle(record.Result{Status: 201, Body: []byte("filled")}, now, claim.Policy)
			row, err := insertArgs(rec, claim.Hash, "")
			if err != nil {
				t.Fatal(err)
			}
			rows, args = append(rows, "(?"+values), append(args, row[3:]...)
		}
		if _, err := pool.Exec(into+"VALUES "+strings.Join(rows, ", "), args...); err != nil {
			t.Fatal(err)
		}
	}
}
