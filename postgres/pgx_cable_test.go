package postgres

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
)

// cable stands between a pool and the server: it counts round trips and breaks
// connections.
type cable struct {
	turns atomic.Int64 // a read that follows a write

	mu    sync.Mutex
	fault fault
	held  []func() // writes that arrive late
	open  []net.Conn
}

// fault is what happens to what is sent and to its answer.
type fault int

const (
	healthy  fault = iota
	deaf           // it arrives, its answer does not
	mute           // it never arrives
	belated        // it arrives when deliver is called; its answer does not
	unbroken       // for comparison: it waits until deliver is called, with its answer
	silent         // it never arrives, and the connection stays open until burn
)

func (w *cable) dress(config *pgxpool.Config) { w.lay(config.ConnConfig) }

func (w *cable) lay(config *pgx.ConnConfig) {
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		w.mu.Lock()
		w.open = append(w.open, conn)
		w.mu.Unlock()
		return &cableConn{Conn: conn, w: w}, nil
	}
}

func (w *cable) set(f fault) {
	w.mu.Lock()
	w.fault = f
	w.mu.Unlock()
}

// burn ends a silence, and with it all connections.
func (w *cable) burn() {
	w.set(healthy)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.open {
		_ = conn.Close()
	}
	w.open = nil
}

// deliver sends what was held back.
func (w *cable) deliver() {
	w.mu.Lock()
	held := w.held
	w.held = nil
	w.mu.Unlock()
	for _, send := range held {
		send()
	}
}

// holding counts the messages held back.
func (w *cable) holding() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.held)
}

type cableConn struct {
	net.Conn
	w     *cable
	wrote atomic.Bool
	cut   atomic.Bool // the client's side of the connection is dead
}

var errCut = errors.New("the test cut the connection")

func (c *cableConn) Write(b []byte) (int, error) {
	if c.cut.Load() {
		return 0, errCut
	}
	c.wrote.Store(true)
	c.w.mu.Lock()
	f := c.w.fault
	if f == belated || f == unbroken {
		late := append([]byte(nil), b...)
		c.w.held = append(c.w.held, func() {
			_, _ = c.Conn.Write(late)
			if f == belated {
				_ = c.Conn.Close()
			}
		})
	}
	c.w.mu.Unlock()
	switch f {
	case deaf:
		n, err := c.Conn.Write(b)
		c.cut.Store(true)
		return n, err
	case mute, belated:
		c.cut.Store(true)
		return len(b), nil
	case unbroken, silent:
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *cableConn) Read(b []byte) (int, error) {
	if c.cut.Load() {
		return 0, errCut
	}
	if c.wrote.Swap(false) {
		c.w.turns.Add(1)
	}
	return c.Conn.Read(b)
}

// Close of a connection whose message is on its way leaves it to deliver.
func (c *cableConn) Close() error {
	if c.cut.Load() && c.w.holding() > 0 {
		return nil
	}
	return c.Conn.Close()
}

// TestRoundTrips: a fresh action costs as many round trips as the bare
// transaction, a repeat one, and one COMMIT each.
func TestRoundTrips(t *testing.T) {
	var w cable
	s := newShop(t, Options{}, w.dress, func(c *pgxpool.Config) { c.MaxConns = 1 })
	fresh := func(key string) {
		if err := s.run(keeperCall(key), s.put(key)); err != nil {
			t.Fatal(err)
		}
	}
	bare := func() {
		err := pgx.BeginFunc(t.Context(), s.conns, func(tx pgx.Tx) error { return s.order(t.Context(), tx, "bare") })
		if err != nil {
			t.Fatal(err)
		}
	}
	count := func(work func()) int64 {
		before := w.turns.Load()
		work()
		return w.turns.Load() - before
	}
	fresh("first, which learns the operation")
	fresh("second, which prepares the statements")
	bare()
	if err := s.run(keeperCall("second, which prepares the statements"), s.put("repeat")); err != nil {
		t.Fatal(err)
	}
	want := count(bare)
	if got := count(func() { fresh("third") }); got != want {
		t.Errorf("a fresh action took %d round trips, its bare transaction %d", got, want)
	}
	for _, key := range []string{"third", "third"} {
		got := count(func() {
			out, err := s.Execute(t.Context(), keeperCall(key), s.put("repeat"))
			if err != nil || !out.Replayed {
				t.Fatalf("Execute = %+v, %v; want a replay", out, err)
			}
		})
		if got != 1 {
			t.Errorf("a repeat took %d round trips, want one", got)
		}
	}
}

// TestOneCommit: the effect and its record are one transaction of the server.
func TestOneCommit(t *testing.T) {
	s := newShop(t, Options{}, func(c *pgxpool.Config) { c.MaxConns = 1 })
	var xids []string
	for _, key := range []string{"one", "two"} {
		err := s.run(keeperCall(key), func(ctx context.Context, tx Tx) (refrain.Result, error) {
			var xid string
			err := errors.Join(s.order(ctx, tx, key), tx.QueryRow(ctx, `SELECT pg_current_xact_id()::text`).Scan(&xid))
			xids = append(xids, xid)
			return done, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	rows, err := s.raw.Query(t.Context(), s.sql.text(`SELECT r.xid::text FROM {schema}.record r WHERE EXISTS (SELECT FROM {schema}.orders o WHERE o.xmin::text::int8 = (r.xid::text::int8 & 4294967295)) ORDER BY r.xid`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	same(t, "transactions of the records that hold their orders", got, xids)
}
