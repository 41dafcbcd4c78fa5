package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"sync"

	"github.com/ncruces/go-sqlite3"
	sqlitedriver "github.com/ncruces/go-sqlite3/driver"

	"github.com/refrain-dev/refrain"
)

// guard is the driver connection of the writer. It sees every statement,
// prepared ones, rows and scans included, and knows whose turn it is: the
// engine's own, or one member's. A handle whose turn is over gets
// [sql.ErrTxDone], whatever goroutine still holds it.
//
// A statement never runs under a caller's cancellation, because SQLite rolls
// the whole transaction back when a write is interrupted and the neighbours of
// the group would lose their work. Deadlines are checked between statements;
// only stop, the group's own end, interrupts.
type guard struct {
	inner sqlitedriver.Conn
	raw   *sqlite3.Conn
	pool  *sql.DB    // of this connection alone
	own   statements // the engine's

	mu     sync.Mutex
	turn   *turn           // the member that owns the connection, nil: the engine
	held   map[*stmt]bool  // the member's open statements
	stop   context.Context // ends the statement under way
	denied string          // what the authorizer refused last
	cache  map[cacheKey][]driver.Stmt
	cached int
}

type cacheKey struct {
	query  string
	engine bool // prepared where the authorizer lets more pass
}

const maxCached = 128

func newGuard(inner sqlitedriver.Conn) (*guard, error) {
	g := &guard{
		inner: inner,
		raw:   inner.Raw(),
		held:  make(map[*stmt]bool),
		cache: make(map[cacheKey][]driver.Stmt),
		stop:  context.Background(),
	}
	g.own.conn = g.raw
	return g, g.raw.SetAuthorizer(g.authorize)
}

// exec, row and rows make the guard the engine's own [runner].
func (g *guard) exec(_ context.Context, query string, args ...any) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.turn != nil {
		return 0, sql.ErrTxDone
	}
	return g.own.run(query, nil, args)
}

func (g *guard) row(_ context.Context, query string, read func(row) error, args ...any) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.turn != nil {
		return sql.ErrTxDone
	}
	_, err := g.own.run(query, read, args)
	return err
}

func (g *guard) rows(_ context.Context, query string, read func(row) error, args ...any) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.turn != nil {
		return sql.ErrTxDone
	}
	return g.own.rows(query, read, args)
}

// begin hands the connection to t.
func (g *guard) begin(t *turn) {
	g.mu.Lock()
	g.turn = t
	g.mu.Unlock()
}

// end takes the connection back from t and closes what t left open. ok is false
// when somebody did so before.
func (g *guard) end(t *turn) (ok bool) {
	if ok = t.finish(); ok {
		g.reclaim()
	}
	return ok
}

// reclaim makes the connection the engine's again after a turn has finished.
func (g *guard) reclaim() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for s := range g.held {
		_ = s.close()
	}
	g.turn = nil
}

// setStop sets the context that interrupts statements of the group.
func (g *guard) setStop(ctx context.Context) {
	g.mu.Lock()
	g.stop = ctx
	g.mu.Unlock()
}

// inTransaction reports whether the transaction still stands.
func (g *guard) inTransaction() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.raw.GetAutocommit()
}

// deferredViolations counts deferred foreign keys that would fail COMMIT.
func (g *guard) deferredViolations() (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, _, err := g.raw.Status(sqlite3.DBSTATUS_DEFERRED_FKS, false)
	return n, err
}

// changes counts the rows written on this connection.
func (g *guard) changes() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.raw.TotalChanges()
}

// admit checks that t may run a statement now. g.mu is held.
func (g *guard) admit(ctx context.Context, t *turn) error {
	if t != g.turn {
		return sql.ErrTxDone
	}
	if t == nil {
		return nil
	}
	if err := t.check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return t.cut(err)
	}
	return nil
}

// settle looks at what a statement of t did to the transaction. g.mu is held.
func (g *guard) settle(t *turn, err error) error {
	denied := g.denied
	g.denied = ""
	if t == nil || err == nil && !g.raw.GetAutocommit() {
		return err
	}
	switch {
	case denied != "":
		err = errors.Join(refrain.ErrOwned, errors.New("sqlite: an effect may not "+denied))
	case g.raw.GetAutocommit():
		err = errors.Join(errGone, err)
	case !fatal(err):
		return err
	}
	return t.spoil(err)
}

func (g *guard) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := turnOf(ctx)
	if err := g.admit(ctx, t); err != nil {
		return nil, err
	}
	key := cacheKey{query, t == nil || t.trusted}
	if idle := g.cache[key]; len(idle) > 0 {
		s := idle[len(idle)-1]
		g.cache[key] = idle[:len(idle)-1]
		g.cached--
		return g.newStmt(t, key, s), nil
	}
	s, err := g.inner.PrepareContext(g.stop, query)
	if err = g.settle(t, err); err != nil {
		return nil, err
	}
	return g.newStmt(t, key, s), nil
}

func (g *guard) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) > 0 || turnOf(ctx) == nil {
		return nil, driver.ErrSkip // prepared and cached
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t := turnOf(ctx)
	if err := g.admit(ctx, t); err != nil {
		return nil, err
	}
	res, err := g.inner.(driver.ExecerContext).ExecContext(g.stop, query, args)
	return res, g.settle(t, err)
}

// CheckNamedValue leaves arguments to the prepared statement, as the driver does.
func (g *guard) CheckNamedValue(*driver.NamedValue) error { return nil }

// Prepare, Begin and Close complete [driver.Conn]. Nobody begins a transaction
// through database/sql here.
func (g *guard) Prepare(query string) (driver.Stmt, error) {
	return g.PrepareContext(context.Background(), query)
}

func (g *guard) Begin() (driver.Tx, error) { return nil, refrain.ErrOwned }

func (g *guard) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, idle := range g.cache {
		for _, s := range idle {
			_ = s.Close()
		}
	}
	clear(g.cache)
	_ = g.own.close()
	for _, s := range slices.Collect(g.raw.Stmts()) { // closing changes the sequence
		_ = s.Close()
	}
	return g.inner.Close()
}
