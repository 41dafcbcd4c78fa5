package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// SQLTx is what an effect of [SQL] writes with. It is valid until the effect
// returns.
type SQLTx = refrain.SQLTx

var (
	_ refrain.Executor[SQLTx] = (*SQL)(nil)
	_ upkeep.Keeper           = (*SQL)(nil)
)

// SQL is an engine on a *sql.DB, whatever its PostgreSQL driver; see [NewSQL].
// It is safe for concurrent use.
type SQL struct {
	Store
	handle *sql.DB
	driver record.Driver
	recent recent
	tasks  tasks
	late   lateCommits
	acks   acks
	mark   string                 // name of ExecuteIn's savepoint: an effect cannot guess it
	grace  time.Duration          // see overrunGrace
	home   atomic.Pointer[string] // where ExecuteIn found our database last

	committing func() error // storetest's, before each COMMIT of an effect
}

// NewSQL makes an engine on an application's own handle, which the application
// keeps and closes. It starts nothing and asks nothing of the server.
//
// Errors are told by their SQLSTATE, an optional method of the driver's errors
// that pgx and lib/pq have. The notice by which PostgreSQL tells that a COMMIT
// was acknowledged without its synchronous standbys is heard on connections of
// pgx's database/sql driver that went through [ConfigureSQL]. On all others each
// COMMIT is followed by another one, which carries a message alone, whenever
// synchronous_standby_names is set; somebody who cancels that wait as well is
// not noticed, which [SQL.Doctor] says.
//
// A handle with SetMaxOpenConns(1) works.
func NewSQL(db *sql.DB, options ...Options) (*SQL, error) {
	opts, err := single(options)
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, errors.New("postgres: no *sql.DB")
	}
	e := &SQL{handle: db, mark: "refrain_" + rand.Text(), grace: overrunGrace}
	e.Store = Store{
		opts:  opts,
		sql:   newQueries(opts.Schema),
		read:  lending{e},
		write: e.change,
	}
	e.acknowledge = func(ctx context.Context, found seen) error { return e.acks.confirmed(ctx, found, defaultCommitWait) }
	e.acks.emit = e.emit
	e.driver = record.Driver{Load: e.Load, Glance: e.glance, Change: e.Change, Unseen: e.unseen}
	return e, nil
}

// unseen reports a call for which a lookup would most likely find nothing. It
// only chooses what comes first.
func (db *SQL) unseen(c *record.Claim) bool {
	now := time.Now
	if db.opts.Now != nil {
		now = db.opts.Now
	}
	if born, timed := c.Policy.KeyTime.Birth(c.Identity.Key); timed && now().Sub(born) > newborn {
		return false
	}
	return !db.recent.seen(c.Hash)
}

// Close waits for effects and COMMITs under way, as long as ctx allows. Every
// later call fails. The handle is the application's to close.
func (db *SQL) Close(ctx context.Context) error {
	err := db.tasks.close(ctx)
	db.acks.stop()
	if err != nil {
		return fmt.Errorf("postgres: closed with work under way: %w", err)
	}
	return nil
}
