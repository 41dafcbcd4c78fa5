package naked

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
)

func open(t *testing.T) *Naked {
	t.Helper()
	n, err := New(filepath.Join(t.TempDir(), "naked.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return n
}

func (n *Naked) count(t *testing.T, table string) (rows int) {
	t.Helper()
	if err := n.reads.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestDurability(t *testing.T) {
	t.Parallel()
	n := open(t)
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "wal_autocheckpoint": "16000"} {
		var got string
		if err := n.writer.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, want %q (%v)", pragma, got, want, err)
		}
	}
}

func TestOneEffectPerKey(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]func(*Naked, context.Context, string) (Answer, error){
		"single": (*Naked).Single, "grouped": (*Naked).Grouped,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := open(t)
			const callers = 64
			var wg sync.WaitGroup
			answers, errs := make([]Answer, callers), make([]error, callers)
			for i := range callers {
				wg.Go(func() { answers[i], errs[i] = op(n, t.Context(), "k") })
			}
			wg.Wait()
			fresh := 0
			for i, a := range answers {
				if errs[i] != nil || a.Status != 201 || string(a.Body) != string(Body) || string(a.Headers) != string(headers) {
					t.Errorf("caller %d got %+v, %v", i, a, errs[i])
				}
				if !a.Replayed {
					fresh++
				}
			}
			if orders := n.count(t, "orders"); fresh != 1 || orders != 1 {
				t.Errorf("%d fresh answers and %d orders, want 1 and 1", fresh, orders)
			}
			again, err := n.Replay(t.Context(), "k")
			if err != nil || !again.Replayed || string(again.Body) != string(Body) {
				t.Errorf("replay: %+v, %v", again, err)
			}
		})
	}
}

func TestBare(t *testing.T) {
	t.Parallel()
	n := open(t)
	if err := n.Bare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if orders, records := n.count(t, "orders"), n.count(t, "refrain_record"); orders != 1 || records != 0 {
		t.Errorf("%d orders and %d records, want 1 and 0", orders, records)
	}
}

func TestReplayOfUnknownKey(t *testing.T) {
	t.Parallel()
	if _, err := open(t).Replay(t.Context(), "k"); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("got %v, want sql.ErrNoRows", err)
	}
}

func TestPreload(t *testing.T) {
	t.Parallel()
	n := open(t)
	if err := n.Preload(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := n.Replay(t.Context(), Preloaded(i)); err != nil {
			t.Errorf("key %d: %v", i, err)
		}
	}
}

func TestOpenWithUnknownDriver(t *testing.T) {
	t.Parallel()
	if _, err := Open("no such driver", "x"); err == nil {
		t.Error("an unknown driver opened")
	}
}

func batchOf(ctx context.Context, keys ...string) []*member {
	var batch []*member
	for _, k := range keys {
		batch = append(batch, &member{ctx: ctx, key: k})
	}
	return batch
}

func TestGroupKeepsFailuresApart(t *testing.T) {
	t.Parallel()
	n := open(t)
	if _, err := n.Single(t.Context(), "taken"); err != nil {
		t.Fatal(err)
	}
	if _, err := n.writer.ExecContext(t.Context(), "UPDATE refrain_record SET scope = 'south'"); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	batch := batchOf(t.Context(), "a", "taken", "cancelled", "b")
	batch[2].ctx = gone
	n.commit(batch)
	for i, want := range []error{nil, ErrForeign, context.Canceled, nil} {
		if !errors.Is(batch[i].err, want) {
			t.Errorf("member %q got %v, want %v", batch[i].key, batch[i].err, want)
		}
	}
	if orders := n.count(t, "orders"); orders != 3 {
		t.Errorf("%d orders, want 3: the first, a and b", orders)
	}
}

func TestMemberFailureUndoesItsEffect(t *testing.T) {
	t.Parallel()
	n := open(t)
	const trap = `CREATE TRIGGER trap BEFORE INSERT ON refrain_record WHEN NEW.key = X'626164' BEGIN SELECT RAISE(ABORT, 'trap'); END`
	if _, err := n.writer.ExecContext(t.Context(), trap); err != nil {
		t.Fatal(err)
	}
	batch := batchOf(t.Context(), "a", "bad", "b")
	n.commit(batch)
	if batch[0].err != nil || batch[1].err == nil || batch[2].err != nil {
		t.Errorf("errors %v, %v, %v; want only the second", batch[0].err, batch[1].err, batch[2].err)
	}
	if orders, records := n.count(t, "orders"), n.count(t, "refrain_record"); orders != 2 || records != 2 {
		t.Errorf("%d orders and %d records, want 2 and 2", orders, records)
	}
}

func TestFailedGroupAcknowledgesNobody(t *testing.T) {
	t.Parallel()
	n := open(t)
	const trap = `CREATE TRIGGER trap BEFORE INSERT ON refrain_record WHEN NEW.key = X'626164' BEGIN SELECT RAISE(ROLLBACK, 'trap'); END`
	if _, err := n.writer.ExecContext(t.Context(), trap); err != nil {
		t.Fatal(err)
	}
	batch := batchOf(t.Context(), "a", "bad", "b")
	n.commit(batch)
	for _, m := range batch {
		if m.err == nil || m.answer.Status != 0 {
			t.Errorf("member %q was acknowledged: %+v", m.key, m.answer)
		}
	}
	if orders := n.count(t, "orders"); orders != 0 {
		t.Errorf("%d orders, want 0", orders)
	}
	if _, err := n.Grouped(t.Context(), "a"); err != nil {
		t.Errorf("the next group: %v", err)
	}
}
