package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

var _ refrain.Executor[Tx] = (*DB)(nil)

// DB is the engine on a pool of pgx. It is safe for concurrent use.
type DB struct {
	Store
	conns  *pgxpool.Pool
	owned  bool // the pool is ours to close
	driver record.Driver
	recent recent
	tasks  tasks
	late   lateCommits
	most   int32 // late COMMITs that leave connections for others
	acks   acks
	ears   ears
	ended  context.Context // of Listen
	end    context.CancelFunc
	mark   string // name of ExecuteIn's savepoint: an effect cannot guess it

	// between stands around COMMIT; tests set it.
	between func(statement string, run func() error) error
}

// acquire borrows a connection. Without one nothing was tried.
func (db *DB) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	waiting, cancel := db.opts.soon(ctx)
	defer cancel()
	conn, err := db.conns.Acquire(waiting)
	if err != nil { // a lookup would not get one either
		return nil, fmt.Errorf("postgres: no connection: %w", err)
	}
	return conn, nil
}

// Close waits for effects and COMMITs under way, as long as ctx allows, and then
// closes the pool if Open made it. Calls that come later are row 9. When ctx ends
// first the pool closes itself after what is under way.
func (db *DB) Close(ctx context.Context) error {
	db.end()
	err := db.tasks.close(ctx)
	db.acks.stop()
	switch {
	case err != nil && db.owned:
		go db.conns.Close()
	case db.owned:
		db.conns.Close()
	}
	if err != nil {
		return fmt.Errorf("postgres: closed with work under way: %w", err)
	}
	return nil
}

// Pool is the pool of connections, for the application's own queries.
func (db *DB) Pool() *pgxpool.Pool { return db.conns }

// newborn reports a key that was made within the last second. It only chooses
// what comes first, so a wrong clock costs time and nothing else.
const newborn = time.Second

// unseen reports a call for which a lookup would most likely find nothing.
func (db *DB) unseen(c *record.Claim) bool {
	now := time.Now
	if db.opts.Now != nil {
		now = db.opts.Now
	}
	if born, timed := c.Policy.KeyTime.Birth(c.Identity.Key); timed && now().Sub(born) > newborn {
		return false
	}
	return !db.recent.seen(c.Hash)
}
