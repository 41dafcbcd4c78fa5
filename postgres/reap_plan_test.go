package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// records puts n records into the table, a millisecond apart, with untimed keys and
// a body of so many bytes.
func (s *shop) records(t testing.TB, n, body int) {
	t.Helper()
	rec := claimOf(t, keeperCall("k")).Begin(noon)
	columns := []string{"hash", "version", "created", "final", "replay_until", "remember_until", "fence", "attempt", "status", "format", "state", "disputed",
		"ref", "scope", "operation", "key", "actor", "raw", "deciding", "rule", "schema", "identity", "effect", "header", "body"}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	_, err := s.raw.CopyFrom(ctx, pgx.Identifier{s.opts.Schema, "record"}, columns, pgx.CopyFromSlice(n, func(i int) ([]any, error) {
		at := noon.Add(time.Duration(i) * time.Millisecond)
		id := rec.Identity
		id.Key = fmt.Sprintf("order-%030d", i)
		micros := at.UnixMicro()
		return []any{id.Hash(), 1, micros, micros, micros + 3600e6, micros + 7200e6, micros, 1, 201, 1, int(record.Confirmed), false,
			packRef(record.NewRef(at)), id.Scope, id.Operation, []byte(id.Key), []byte{}, rec.Print.Raw[:], rec.Print.Deciding[:], rec.Print.Rule, rec.Print.Schema,
			"tenant[,subject]", []byte("/orders/1"), record.EncodeHeader([][2]string{{"Content-Type", "application/json"}}), make([]byte, body)}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
}

// However many records there are: a batch reads its span by the index, and what is
// due is found by its index, too.
func TestReapPlans(t *testing.T) {
	s := newShop(t, Options{})
	s.records(t, 100_000, 10)
	s.sql0(t, `INSERT INTO {schema}.span SELECT CASE WHEN n = 1 THEN '' ELSE int8send(n - 1) END, int8send(n), n, true FROM generate_series(1, 20000) n`)
	s.sql0(t, `INSERT INTO {schema}.external (ref, action, step, provider, partition, version, format, state, disputed, created, final, data, input)
SELECT r.ref, r.ref, 's', 'bank', '', 1, 1, 4, false, 1, 1, '{"key":"k"}', '' FROM {schema}.record r`)
	s.sql0(t, `ANALYZE {schema}.record, {schema}.external, {schema}.span`)
	at := func(second int) []byte { return packRef(record.RefAt(noon.Add(time.Duration(second) * time.Second))) }
	var rows []upkeep.Row
	b := batch{store: &s.Store, tx: direct{s.raw}, reap: upkeep.Reap{}.Bounded(noon)}
	rows, err := b.rows(t.Context(), &span{after: at(50), last: at(51)})
	if err != nil || len(rows) != 1000 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	refs := refsText(rows)
	filtered := regexp.MustCompile(`Rows Removed by Filter: \d{4}`)
	for name, tt := range map[string]struct {
		index string
		query string
		args  []any
	}{
		"due":    {"span_due", overdueText, []any{100}},
		"newest": {"span_pkey", newestText, nil},
		"survey": {"record_ref", surveyText, []any{at(10), at(90), 1000}},
		"rows":   {"record_ref", spanRowsText, settledArgs(at(50), at(51), 1001)},
		"mine":   {"record_ref", mineText, settledArgs(refs)},
		"trim":   {"record_ref", trimText, []any{refs, record.Trimmed}},
		"forget": {"record_ref", forgetText, []any{refs}},
		"whole":  {"record_ref", wholesText, []any{refs}},
		"join":   {"span_pkey", joinText, []any{[]byte{0, 0, 0, 0, 0, 0, 0x27, 0x10}}},
		"put":    {"span_pkey", putSpanText, []any{[]byte{0, 0, 0, 0, 0, 0, 0x27, 0x10}, []byte{}, 1, false}},
		"more":   {"record_ref", moreText, []any{0, at(90)}},
		"walk":   {"record_ref", walkText, []any{at(50), 1000, walkPage}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
				tx, err := s.raw.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback(t.Context())
				for _, set := range []string{`SET LOCAL plan_cache_mode = ` + mode, `SET LOCAL jit = off`, `DEALLOCATE ALL`, `PREPARE reap AS ` + s.sql.text(tt.query)} {
					if _, err := tx.Exec(t.Context(), set); err != nil {
						t.Fatal(err)
					}
				}
				found, err := tx.Query(t.Context(), `EXPLAIN (ANALYZE, COSTS false, TIMING false) EXECUTE reap`+placeholders(len(tt.args)),
					append([]any{pgx.QueryExecModeSimpleProtocol}, tt.args...)...)
				if err != nil {
					t.Fatal(err)
				}
				lines, err := pgx.CollectRows(found, pgx.RowTo[string])
				if err := errors.Join(err, tx.Rollback(t.Context())); err != nil {
					t.Fatal(err)
				}
				plan := strings.Join(lines, "\n")
				if !strings.Contains(plan, tt.index) || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "hashed SubPlan") || filtered.MatchString(plan) {
					t.Errorf("%s:\n%s", mode, plan)
				}
			}
		})
	}
}

// placeholders is ($1, $2, …).
func placeholders(n int) string {
	if n == 0 {
		return ""
	}
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint("$", i+1)
	}
	return "(" + strings.Join(all, ", ") + ")"
}
