package postgres

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain/record"
)

// wire counts the round trips of all connections, and can lose an answer.
type wire struct {
	trips atomic.Int64
	lose  atomic.Bool // the answer to the next thing written
}

func (w *wire) tweak(config *pgxpool.Config) {
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &wiredConn{Conn: conn, wire: w}, err
	}
}

type wiredConn struct {
	net.Conn
	wire  *wire
	asked atomic.Bool
	lost  atomic.Bool
}

func (c *wiredConn) Write(p []byte) (int, error) {
	c.asked.Store(true)
	if c.wire.lose.CompareAndSwap(true, false) {
		c.lost.Store(true)
	}
	return c.Conn.Write(p)
}

func (c *wiredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.asked.CompareAndSwap(true, false) {
		c.wire.trips.Add(1)
	}
	if c.lost.Load() { // after the server has answered: it has committed
		_ = c.Conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// TestGroupRoundTrips: a lone call is one round trip, or one more for each Send.
func TestGroupRoundTrips(t *testing.T) {
	var w wire
	b := newGroupBed(t, Options{}, w.tweak)
	b.warm(t)
	twice := func(id string) batchEffect {
		return func(ctx context.Context, batch *Batch) (record.Result, error) {
			batch.Queue(`SELECT 1`)
			if err := batch.Send(ctx); err != nil {
				return record.Result{}, err
			}
			return b.returns(id)(ctx, batch)
		}
	}
	for name, tt := range map[string]struct {
		effect func(string) batchEffect
		trips  int64
	}{"queued": {b.inserts, 1}, "sent": {b.returns, 2}, "sent twice": {twice, 3}} {
		least := int64(math.MaxInt64)
		for try := range 6 { // every text is prepared once on each connection
			w.trips.Store(0)
			key := name + string(rune('0'+try))
			if _, err := b.group.Execute(t.Context(), groupCall(key), tt.effect(key)); err != nil {
				t.Fatal(err)
			}
			least = min(least, w.trips.Load())
		}
		if least != tt.trips {
			t.Errorf("%s: %d round trips, want %d", name, least, tt.trips)
		}
	}
}

// TestGroupAnswerLost: where nobody knows what came of a COMMIT, each member finds
// out for itself: what has happened is not done again.
func TestGroupAnswerLost(t *testing.T) {
	for name, effect := range map[string]func(*groupBed, string) batchEffect{
		"queued": (*groupBed).inserts, "sent": (*groupBed).returns,
	} {
		t.Run(name, func(t *testing.T) {
			var w wire
			b := newGroupBed(t, Options{}, w.tweak)
			b.warm(t)
			calls := 0
			b.db.between = func(_ string, run func() error) error {
				if calls++; calls == 3 { // its texts are prepared
					w.lose.Store(true)
				}
				return run()
			}
			for i := range 4 {
				key := name + string(rune('0'+i))
				out, err := b.group.Execute(t.Context(), groupCall(key), effect(b, key))
				if err != nil || out.Replayed || b.effects(t)[key] != 1 {
					t.Fatalf("%s: %+v, %v, %d effects", key, out, err, b.effects(t)[key])
				}
			}
			if calls < 4 || calls > 5 { // the one without an answer may not have been carried out
				t.Errorf("%d COMMITs for four actions", calls)
			}
		})
	}
}

// TestGroupBackendKilled between the flushes: everybody ends with one effect.
func TestGroupBackendKilled(t *testing.T) {
	b := newGroupBed(t, Options{})
	b.warm(t)
	b.group.stall = 10 * time.Second
	var kill sync.Once
	keys := groupKeys(8)
	results := b.together(t, keys, func(key string) batchEffect {
		return func(ctx context.Context, batch *Batch) (record.Result, error) {
			var pid int32
			batch.Queue(`SELECT pg_backend_pid()`).QueryRow(func(row pgx.Row) error { return row.Scan(&pid) })
			result, err := b.returns(key)(ctx, batch)
			if err == nil {
				kill.Do(func() {
					if _, err := b.raw.Exec(ctx, `SELECT pg_terminate_backend($1, 5000)`, pid); err != nil {
						t.Error(err)
					}
				})
			}
			return result, err
		}
	})
	b.once(t, results, keys)
}

// TestGroupUnconfirmed: a COMMIT that no standby has confirmed acknowledges nobody.
func TestGroupUnconfirmed(t *testing.T) {
	b := newGroupBed(t, Options{})
	if _, err := b.raw.Exec(t.Context(), `CREATE FUNCTION `+b.schema+`.warns() RETURNS int LANGUAGE plpgsql AS $$
		BEGIN RAISE WARNING 'canceling wait for synchronous replication due to user request'; RETURN 1; END $$`); err != nil {
		t.Fatal(err)
	}
	b.warm(t)
	keys := groupKeys(4)
	results := b.together(t, keys, func(key string) batchEffect {
		return func(ctx context.Context, batch *Batch) (record.Result, error) {
			if key == keys[0] {
				batch.Queue(`SELECT ` + b.schema + `.warns()`)
			}
			return b.inserts(key)(ctx, batch)
		}
	})
	for _, key := range keys {
		var refusal *record.Error
		if err := results[key].err; !errors.As(err, &refusal) || refusal.Row != "10" {
			t.Errorf("%s: %v, want row 10", key, err)
		}
	}
}

// TestGroupLateCommit: callers wait for COMMIT no longer than their contracts say,
// and the connection waits on, counted.
func TestGroupLateCommit(t *testing.T) {
	b := newGroupBed(t, Options{})
	b.warm(t)
	gate := make(chan struct{})
	b.db.between = func(_ string, run func() error) error {
		err := run()
		<-gate
		return err
	}
	call := groupCall("late")
	call.Contract.CommitWait = 20 * time.Millisecond
	_, err := b.group.Execute(t.Context(), call, b.inserts("late"))
	var refusal *record.Error
	if !errors.As(err, &refusal) || refusal.Row != "10" {
		t.Errorf("%v, want row 10", err)
	}
	if n := b.db.late.n.Load(); n != 1 {
		t.Errorf("%d late COMMITs are counted, want one", n)
	}
	close(gate)
	b.await(t, func() bool { return b.db.late.n.Load() == 0 }, "the late COMMIT's end")
	b.db.between = func(_ string, run func() error) error { return run() }
	if out, err := b.group.Execute(t.Context(), groupCall("late"), b.inserts("late")); err != nil || !out.Replayed || b.effects(t)["late"] != 1 {
		t.Errorf("the retry: %+v, %v", out, err)
	}
}

// TestGroupStalls: a member that takes its time between two flushes is cut off,
// and its neighbours commit without it.
func TestGroupStalls(t *testing.T) {
	b := newGroupBed(t, Options{})
	b.warm(t)
	b.group.stall = 5 * time.Millisecond
	keys := groupKeys(4)
	slow := make(chan struct{})
	var others atomic.Int32
	results := b.together(t, keys, func(key string) batchEffect {
		return func(ctx context.Context, batch *Batch) (record.Result, error) {
			result, err := b.returns(key)(ctx, batch)
			if key == keys[2] && err == nil {
				select {
				case <-slow:
				case <-ctx.Done():
				}
			} else if others.Add(1) == 6 { // each of them has run again
				close(slow)
			}
			return result, err
		}
	})
	b.once(t, results, keys)
}

// TestGroupDeadlock: two groups that lock the same rows in other orders; nobody is
// told.
func TestGroupDeadlock(t *testing.T) {
	b := newGroupBed(t, Options{})
	b.warm(t)
	for _, id := range []string{"a", "b"} {
		if _, err := b.raw.Exec(t.Context(), `INSERT INTO `+b.schema+`.effects (id) VALUES ($1)`, id); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		wg.Go(func() {
			_, err := b.group.Execute(t.Context(), groupCall(order[0]), func(_ context.Context, batch *Batch) (record.Result, error) {
				for i, id := range order {
					if i > 0 {
						batch.Queue(`SELECT pg_sleep(0.3)`)
					}
					batch.Queue(`UPDATE `+b.schema+`.effects SET id = id WHERE id = $1`, id)
				}
				return record.Result{Status: 201}, nil
			})
			if err != nil {
				t.Errorf("%v: %v", order, err)
			}
		})
	}
	wg.Wait()
}

// TestGroupCallerLeaves: a caller that is cancelled before its turn has executed
// nothing.
func TestGroupCallerLeaves(t *testing.T) {
	b := newGroupBed(t, Options{})
	b.warm(t)
	ctx, cancel := context.WithCancel(t.Context())
	keys := groupKeys(3)
	var cancelled error
	left := make(chan struct{})
	results := b.together(t, keys, func(key string) batchEffect {
		if key == keys[0] {
			go func() {
				defer close(left)
				_, cancelled = b.group.Execute(ctx, groupCall("leaves"), func(ctx context.Context, batch *Batch) (record.Result, error) {
					defer b.afterwards(t, cancel)
					return b.inserts("leaves")(ctx, batch)
				})
			}()
			<-left
		}
		return b.inserts(key)
	})
	var refusal *record.Error
	if !errors.As(cancelled, &refusal) || !errors.Is(cancelled, context.Canceled) {
		t.Errorf("the cancelled caller got %v", cancelled)
	}
	b.once(t, results, keys)
	if n := b.effects(t)["leaves"]; n != 0 {
		t.Errorf("%d effects of a caller that left", n)
	}
}

// afterwards does it once a member waits in the queue.
func (b *groupBed) afterwards(t *testing.T, do func()) {
	go func() {
		b.await(t, func() bool {
			b.group.mu.Lock()
			defer b.group.mu.Unlock()
			return len(b.group.queue) > 0
		}, "a member in the queue")
		do()
	}()
}
