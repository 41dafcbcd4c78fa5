package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// bornAt is a UUIDv7.
func bornAt(at time.Time, n int) string {
	ms := at.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n)
}

// TestGroupObstacles: whatever stands in the way of a member is found by the
// group's own statements, in one flush and in several, and decided precisely;
// its neighbours commit.
func TestGroupObstacles(t *testing.T) {
	row := func(want string, problem record.Problem) func(*groupBed, groupResult) string {
		return func(_ *groupBed, r groupResult) string {
			var refusal *record.Error
			if !errors.As(r.err, &refusal) || refusal.Row != want || refusal.Problem != problem {
				return fmt.Sprintf("%+v, %v; want row %s, %s", r.out, r.err, want, problem)
			}
			return ""
		}
	}
	now := time.Now()
	young := bornAt(now.Add(time.Minute), 7) // no lookup comes first
	tests := []struct {
		name  string
		key   string
		set   func(b *groupBed, call *refrain.Call) string
		check func(*groupBed, groupResult) string
	}{
		{"a horizon at its birth", young, func(b *groupBed, c *refrain.Call) string {
			return fmt.Sprintf(`UPDATE %s.operation SET horizon = %d`, b.schema, now.Add(time.Minute).UnixMilli()*1000)
		}, row("2", record.TooLate)},
		{"a fence over its birth", young, func(b *groupBed, c *refrain.Call) string {
			c.Contract.Skew = time.Minute
			return fence(b, now.Add(time.Second), "1", c.Contract.Operation, "")
		}, row("2", record.TooLate)},
		{"a fence for all over an untimed key", "untimed", func(b *groupBed, c *refrain.Call) string {
			return fence(b, now.Add(-time.Hour), "NULL", "", c.Scope.String())
		}, row("2", record.TooLate)},
		{"a birth past the skew", bornAt(now.Add(time.Hour), 8), func(b *groupBed, c *refrain.Call) string { return "" }, row("2b", record.KeyFromFuture)},
		{"another identity version", "versions", func(b *groupBed, c *refrain.Call) string {
			return `UPDATE ` + b.schema + `.operation SET identity = 'another'`
		}, row("9", record.ContractChanged)},
		{"an allow", "allowed", func(b *groupBed, c *refrain.Call) string {
			claim, err := c.Claim()
			if err != nil {
				return err.Error()
			}
			return `INSERT INTO ` + b.schema + `.allow (hash, scope, operation, key, reason, by, at) VALUES ('` +
				hashText(claim.Hash) + `', '` + c.Scope.String() + `', '` + c.Contract.Operation + `', 'allowed', 'test', 'test', 0)`
		}, func(b *groupBed, r groupResult) string {
			var left int
			if err := b.raw.QueryRow(context.Background(), `SELECT count(*) FROM `+b.schema+`.allow`).Scan(&left); err != nil || left != 0 || r.err != nil || r.out.Replayed {
				return fmt.Sprintf("%+v, %v, %d allows left; want one that was spent", r.out, r.err, left)
			}
			return ""
		}},
		{"an ended fence over an untimed key", "free", func(b *groupBed, c *refrain.Call) string {
			return fence(b, now.Add(-time.Hour), "1", "", "")
		}, func(_ *groupBed, r groupResult) string {
			if r.err != nil || r.out.Replayed {
				return fmt.Sprintf("%+v, %v; want it to execute", r.out, r.err)
			}
			return ""
		}},
	}
	for _, tt := range tests {
		for name, effect := range map[string]func(*groupBed, string) batchEffect{
			"queued": (*groupBed).inserts, "sent": (*groupBed).returns,
		} {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				b := newGroupBed(t, Options{})
				b.warm(t)
				call := groupCall(tt.key)
				if sql := tt.set(b, &call); sql != "" {
					if _, err := b.raw.Exec(t.Context(), sql); err != nil {
						t.Fatal(err)
					}
				}
				out, err := b.group.Execute(t.Context(), call, effect(b, "it"))
				if wrong := tt.check(b, groupResult{out, err}); wrong != "" {
					t.Error(wrong)
				}
				if n := b.effects(t)["it"]; (err == nil) != (n == 1) {
					t.Errorf("%d effects with %v", n, err)
				}
			})
		}
	}
}

func fence(b *groupBed, until time.Time, ended, operation, scope string) string {
	return fmt.Sprintf(`INSERT INTO %s.fence (operation, scope, until, reason, by, at, ended) VALUES ('%s', '%s', %d, 'test', 'test', 0, %s)`,
		b.schema, operation, scope, until.UnixMicro(), ended)
}

// TestGroupPlain: what does not stand in a member's way does not send it alone.
func TestGroupPlain(t *testing.T) {
	var count counter
	b := newGroupBed(t, Options{}, count.tweak)
	b.warm(t)
	now := time.Now()
	for _, sql := range []string{
		fence(b, now.Add(-time.Hour), "1", "", ""),                    // ended: untimed keys are free
		fence(b, now.Add(time.Hour), "NULL", "another.operation", ""), // elsewhere
		fence(b, now.Add(time.Hour), "NULL", "", "another scope"),     // elsewhere
		`UPDATE ` + b.schema + `.operation SET horizon = ` + fmt.Sprint(now.Add(-time.Hour).UnixMicro()),
	} {
		if _, err := b.raw.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for key, effect := range map[string]func(string) batchEffect{
		"untimed": b.inserts, "untimed, sent": b.returns, bornAt(now, 1): b.inserts, bornAt(now, 3): b.returns,
	} {
		count.commits()
		if _, err := b.group.Execute(t.Context(), groupCall(key), effect(key)); err != nil {
			t.Fatal(err)
		}
		if count.n[commitText] != 1 {
			t.Errorf("%s: %v; want one group", key, count.n)
		}
	}
	count.commits()
	fresh := groupCall(bornAt(now.Add(-time.Minute), 2))
	fresh.Fresh = true // made just now, whatever it looks like
	if _, err := b.raw.Exec(t.Context(), fence(b, now.Add(time.Hour), "NULL", "", "")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.group.Execute(t.Context(), fresh, b.inserts("fresh")); err != nil || count.n[commitText] != 1 {
		t.Errorf("a fresh key under a fence: %v, %v; want one group", err, count.n)
	}
}

// TestGroupHeld: a member whose identity a live transaction holds elsewhere waits
// without holding anything, and its neighbours commit at once.
func TestGroupHeld(t *testing.T) {
	b := newGroupBed(t, Options{})
	b.warm(t)
	claim, err := groupCall("held").Claim()
	if err != nil {
		t.Fatal(err)
	}
	tx, err := b.raw.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1::int8 # $2::int8)`, lockKey(claim.Hash), int64(salt(b.name))); err != nil {
		t.Fatal(err)
	}
	call := groupCall("held")
	call.Contract.Wait = -1
	_, err = b.group.Execute(t.Context(), call, b.inserts("held"))
	var refusal *record.Error
	if !errors.As(err, &refusal) || refusal.Row != "6a" {
		t.Errorf("%v, want row 6a", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := b.group.Execute(t.Context(), call, b.inserts("held")); err != nil || out.Replayed {
		t.Errorf("after that: %+v, %v", out, err)
	}
}

// TestGroupApart: an effect that is not for company runs alone and leaves nothing
// behind in other callers' transactions.
func TestGroupApart(t *testing.T) {
	for name, text := range map[string]string{
		"a setting": `SET LOCAL search_path TO nowhere`, "a setting by function": `SELECT Set_Config('search_path', 'nowhere', true)`,
		"a savepoint": `SAVEPOINT refrain`,
	} {
		t.Run(name, func(t *testing.T) {
			var count counter
			b := newGroupBed(t, Options{}, count.tweak)
			b.warm(t)
			for try, want := range []int{0, 0} {
				count.commits()
				key := fmt.Sprint("apart", try)
				_, err := b.group.Execute(t.Context(), groupCall(key), func(ctx context.Context, batch *Batch) (record.Result, error) {
					batch.Queue(text)
					return b.inserts(key)(ctx, batch)
				})
				count.mu.Lock()
				grouped := count.n[beginText]
				count.mu.Unlock()
				if err != nil || grouped != want {
					t.Errorf("%v, %d groups", err, grouped)
				}
			}
		})
	}
}

// TestGroupRefusesVerbs: no effect ends the transaction.
func TestGroupRefusesVerbs(t *testing.T) {
	b := newGroupBed(t, Options{})
	b.warm(t)
	for i, text := range []string{`COMMIT`, `/* x */ commit`, `ROLLBACK`, `BEGIN`} {
		key := fmt.Sprint("verb", i)
		_, err := b.group.Execute(t.Context(), groupCall(key), func(ctx context.Context, batch *Batch) (record.Result, error) {
			_, _ = b.inserts(key)(ctx, batch)
			batch.Queue(text)
			return record.Result{Status: 201}, nil
		})
		if !errors.Is(err, refrain.ErrOwned) || b.effects(t)[key] != 0 {
			t.Errorf("%s: %v, %d effects", text, err, b.effects(t)[key])
		}
	}
}

// TestGroupUngrouped: a contract that asks for it has a transaction of its own.
func TestGroupUngrouped(t *testing.T) {
	var count counter
	b := newGroupBed(t, Options{}, count.tweak)
	b.warm(t)
	call := groupCall("solo")
	call.Contract.Ungrouped = true
	if _, err := b.group.Execute(t.Context(), call, b.inserts("solo")); err != nil {
		t.Fatal(err)
	}
	count.mu.Lock()
	defer count.mu.Unlock()
	if n := count.n[beginText]; n != 0 {
		t.Errorf("%d groups for a contract that wants none", n)
	}
}

// TestBatchRows: what a callback reads in a group is what it reads alone.
func TestBatchRows(t *testing.T) {
	b := newGroupBed(t, Options{})
	b.warm(t)
	type line struct {
		N    int64
		Text *string
		At   time.Time
	}
	read := func(key string, ungrouped bool) (lines []line, values []any, tag string, missing error) {
		call := groupCall(key)
		call.Contract.Ungrouped = ungrouped
		_, err := b.group.Execute(t.Context(), call, func(ctx context.Context, batch *Batch) (record.Result, error) {
			const text = `SELECT n, NULLIF(n::text, '2'), to_timestamp(n) FROM generate_series(1, 3) n`
			batch.Queue(text).Query(func(rows pgx.Rows) (err error) {
				lines, err = pgx.CollectRows(rows, pgx.RowToStructByPos[line])
				tag = rows.CommandTag().String()
				return err
			})
			batch.Queue(text).Query(func(rows pgx.Rows) (err error) {
				for rows.Next() {
					v, err := rows.Values()
					if err != nil {
						return err
					}
					values = append(values, v...)
				}
				return rows.Err()
			})
			batch.Queue(`SELECT 1 WHERE false`).QueryRow(func(row pgx.Row) error {
				missing = row.Scan(new(int))
				return nil
			})
			return record.Result{Status: 201}, batch.Send(ctx)
		})
		if err != nil {
			t.Fatal(err)
		}
		return lines, values, tag, missing
	}
	lines, values, tag, missing := read("together", false)
	lines2, values2, tag2, _ := read("alone", true)
	for _, l := range [2][]line{lines, lines2} {
		if len(l) != 3 || l[1].Text != nil || *l[2].Text != "3" || l[2].N != 3 || l[0].At.Unix() != 1 {
			t.Errorf("read %+v", l)
		}
	}
	if fmt.Sprint(values...) != fmt.Sprint(values2...) || tag != tag2 || tag != "SELECT 3" {
		t.Errorf("values %v and %v, tags %q and %q", values, values2, tag, tag2)
	}
	if !errors.Is(missing, pgx.ErrNoRows) {
		t.Errorf("no row is %v", missing)
	}
}
