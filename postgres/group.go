package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Bounds of groups.
const (
	groupMembers = 64                     // in one transaction
	groupsAtOnce = 2                      // transactions under way
	groupStall   = 100 * time.Millisecond // for what members do between two flushes
	groupFlush   = 2 * time.Second        // for the statements of one flush, COMMIT excluded
	groupTries   = 3                      // groups of one call that were rolled back
	apartFor     = 10 * time.Second       // an operation not fit for company goes alone
)

var _ refrain.Executor[*Batch] = (*Group)(nil)

// Group is an engine on the tables and the pool of a [DB]: concurrent calls
// share a transaction, one flush of statements and one COMMIT. It is for effects
// that are lists of statements; see [Batch]. The two engines may be used side by
// side, for one operation too.
//
// An effect runs first, optimistically, before anything is claimed; then its
// statements go to the server together with its record and those of the other
// callers. Where something stands in the way (the key is known, a statement
// fails, the operation is new) the transaction is rolled back and the call it was
// about runs alone, as [DB.Execute] would run it: its effect runs again. The
// others form another group.
//
// Members of a group see each other's writes, as far as they come before theirs,
// and share its settings; what one of them locks is held until all of them have
// committed. An operation whose contract is Ungrouped always runs alone. So does
// everything at an isolation level above READ COMMITTED, and on a pool in pgx's
// simple protocol.
type Group struct {
	db      *DB
	sql     groupQueries
	apart   map[string]time.Time // operation → until when it runs alone
	known   map[string]string    // operation → identity version, as the store has it
	never   bool                 // no groups with these options
	quiet   atomic.Bool          // COMMIT needs settings of its own on this server
	stall   time.Duration        // see groupStall
	slowest time.Duration        // see groupFlush

	recent recent

	mu      sync.Mutex // guards all that follows, apart and known
	queue   []*member
	leaders int
	limit   int // of members, halved by a failure, doubled by a success
}

// Group returns the group executor of db. It has the same limits and is closed
// with it. Each call makes another one, which forms groups of its own: use one.
func (db *DB) Group() *Group {
	return &Group{
		db:      db,
		sql:     newGroupQueries(db.sql, db.opts.Schema),
		apart:   make(map[string]time.Time),
		known:   make(map[string]string),
		limit:   groupMembers,
		stall:   groupStall,
		slowest: groupFlush,
		never:   db.opts.Isolation != pgx.ReadCommitted || db.conns.Config().ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol,
	}
}

// Execute runs one action: the effect and its record commit together, or
// neither does. See [refrain.Executor]. A call by itself is one round trip when
// its effect sends nothing, and two and one for each further Send otherwise.
func (g *Group) Execute(ctx context.Context, call refrain.Call, effect func(ctx context.Context, batch *Batch) (refrain.Result, error)) (refrain.Outcome, error) {
	return call.Drive(ctx, &g.db.driver, g.db.opts.Observer, func(ctx context.Context, c *record.Claim) (*record.Record, bool, error) {
		leave, err := g.db.tasks.enter()
		if err != nil {
			return nil, false, err
		}
		defer leave()
		rec, fresh, err := g.execute(ctx, c, effect)
		return rec, fresh, err
	})
}

func (g *Group) execute(ctx context.Context, c *record.Claim, effect func(context.Context, *Batch) (record.Result, error)) (*record.Record, bool, error) {
	// What this process has tried before is likely to be done by now, or held by
	// somebody: no group is to fail of it, and no effect to begin in vain.
	repeated, unsure := g.recent.seen(c.Hash), ""
	for try := 0; try < groupTries && !repeated && g.shares(c); try++ {
		if err := ctx.Err(); err != nil {
			return nil, false, fmt.Errorf("%w: %w", record.ErrNotBegun, context.Cause(ctx))
		}
		m := g.member(ctx, c, try)
		switch v := m.run(effect); v.kind {
		case fateCommitted:
			m.rec.Created = time.UnixMicro(v.now).UTC()
			c.Settle(m.rec, m.result, m.rec.Created)
			return m.rec, true, nil
		case fateTold:
			return nil, false, v.err
		case fateUnsure:
			if rec, err := g.settle(ctx, c, m.rec.Ref, v.err); rec != nil || err != nil {
				return rec, rec != nil, err
			}
			try, unsure = groupTries, m.rec.Ref
		case fateAlone:
			try = groupTries
		}
	}
	rec, fresh, err := g.alone(ctx, c, effect)
	return rec, fresh || rec != nil && rec.Ref == unsure, err // it may have arrived meanwhile
}

func (g *Group) member(ctx context.Context, c *record.Claim, tries int) *member {
	now := time.Now()
	if g.db.opts.Now != nil {
		now = g.db.opts.Now()
	}
	m := &member{group: g, claim: c, caller: ctx, rec: c.Begin(now), tries: tries, wake: make(chan verdict, 1), done: make(chan struct{})}
	m.batch = &Batch{send: m.send}
	return m
}

// shares reports whether c may try its luck in a group: as far as this process
// knows, nothing stands in its way.
func (g *Group) shares(c *record.Claim) bool {
	if g.never || c.Policy.Solo {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if until, ok := g.apart[c.Identity.Operation]; ok {
		if time.Now().Before(until) {
			return false
		}
		delete(g.apart, c.Identity.Operation)
	}
	if g.known[c.Identity.Operation] != c.IdentityVersion {
		return false
	}
	_, timed := c.Policy.KeyTime.Birth(c.Identity.Key)
	return timed || c.Policy.KeyTime != record.Required || c.Request.Fresh
}

// learn notes what the store was seen to know of c's operation.
func (g *Group) learn(c *record.Claim, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.known[c.Identity.Operation] = c.IdentityVersion
	} else {
		delete(g.known, c.Identity.Operation)
	}
}

// setApart sends an operation alone for a while.
func (g *Group) setApart(operation string) {
	g.mu.Lock()
	g.apart[operation] = time.Now().Add(apartFor)
	g.mu.Unlock()
}
