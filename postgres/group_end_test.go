package postgres

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain/record"
)

// TestGroupAgainStaysInside: the error by which an effect learns that its group was
// rolled back is not its caller's.
func TestGroupAgainStaysInside(t *testing.T) {
	b := newGroupBed(t, Options{})
	b.warm(t)
	b.group.stall = 10 * time.Second
	left := make(chan struct{})
	var told error
	runs := 0
	failure := errors.New("no")
	results := b.together(t, []string{"stays", "fails"}, func(key string) batchEffect {
		if key == "fails" {
			return func(ctx context.Context, batch *Batch) (record.Result, error) {
				batch.Queue(`SELECT 1`)
				if err := batch.Send(ctx); err != nil {
					return record.Result{}, err
				}
				close(left)
				return record.Result{}, failure
			}
		}
		return func(ctx context.Context, batch *Batch) (record.Result, error) {
			runs++
			result, err := b.returns(key)(ctx, batch)
			if runs == 1 {
				<-left
				batch.Queue(`SELECT 1`)
				told = batch.Send(ctx)
				err = errors.Join(err, told)
			}
			return result, err
		}
	})
	if !errors.Is(told, errAgain) || runs != 2 || results["stays"].err != nil || !errors.Is(results["fails"].err, failure) {
		t.Errorf("told %v, %d runs, results %+v; want %v and another run", told, runs, results, errAgain)
	}
	if n := b.effects(t)["stays"]; n != 1 {
		t.Errorf("%d effects", n)
	}
}

// TestGroupStalledFlush: a statement that takes long is ended, and its call runs
// alone: the others do not wait for it.
func TestGroupStalledFlush(t *testing.T) {
	b := newGroupBed(t, Options{})
	b.warm(t)
	b.group.slowest = 50 * time.Millisecond
	var runs atomic.Int32
	began := time.Now()
	results := b.together(t, []string{"slow", "quick"}, func(key string) batchEffect {
		return func(ctx context.Context, batch *Batch) (record.Result, error) {
			if key == "slow" && runs.Add(1) == 1 {
				batch.Queue(`SELECT pg_sleep(60)`)
			}
			return b.inserts(key)(ctx, batch)
		}
	})
	b.once(t, results, []string{"slow", "quick"})
	if took := time.Since(began); runs.Load() != 2 || took > 30*time.Second {
		t.Errorf("%d runs of the slow one, %v in all", runs.Load(), took)
	}
}

// TestGroupNotifies of a call that held its claim for long.
func TestGroupNotifies(t *testing.T) {
	b := newGroupBed(t, Options{Notify: true})
	b.warm(t)
	b.group.stall = time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ear, err := b.raw.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer ear.Release()
	if _, err := ear.Exec(ctx, "LISTEN "+b.db.channel()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.group.Execute(ctx, groupCall("slow"), func(ctx context.Context, batch *Batch) (record.Result, error) {
		result, err := b.returns("slow")(ctx, batch)
		b.await(t, func() bool { b.group.mu.Lock(); defer b.group.mu.Unlock(); return b.group.leaders == 0 }, "its leader to be detained")
		return result, err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := ear.Conn().WaitForNotification(ctx); err != nil {
		t.Error(err)
	}
}

// meddler does something on a connection right before a batch with a text is sent.
type meddler struct {
	counter
	meddle func(conn *pgx.Conn, texts []string)
}

func (m *meddler) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	if m.meddle != nil {
		m.meddle(conn, textsOf(data.Batch))
	}
	return ctx
}

// TestGroupProvesItsTransaction: records are not written in another transaction
// than the one that claimed them.
func TestGroupProvesItsTransaction(t *testing.T) {
	m := new(meddler)
	b := newGroupBed(t, Options{}, func(c *pgxpool.Config) { c.ConnConfig.Tracer = m })
	m.meddle = func(conn *pgx.Conn, texts []string) {
		if slices.Contains(texts, b.group.sql.one.settle) {
			if _, err := conn.PgConn().Exec(context.Background(), `COMMIT; BEGIN`).ReadAll(); err != nil {
				t.Error(err)
			}
		}
	}
	b.warm(t)
	runs := 0
	if _, err := b.group.Execute(t.Context(), groupCall("k"), func(ctx context.Context, batch *Batch) (record.Result, error) {
		runs++
		return b.returns("k")(ctx, batch)
	}); err != nil || runs != 2 {
		t.Errorf("%v after %d runs; want the record to be refused, and a run alone", err, runs)
	}
}
