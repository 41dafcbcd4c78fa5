package mysql

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain"
)

// Tx is what an effect writes with. It is valid until the effect returns.
// Statements that begin, end or nest transactions, change the schema, the
// session or Refrain's own tables are refused.
type Tx = refrain.SQLTx

// Options of an engine. The zero value works.
type Options struct {
	// Now replaces the server's clock; nil is the server's. One stamp is taken per
	// transaction, after the claim is held.
	Now func() time.Time
	// Observer is told every decision; nil is nobody.
	Observer refrain.Observer
	// Connections is the most that Open opens; 0 means 16. A handle given to New
	// has its own limit.
	Connections int
	// Busy is how long a call waits for a connection, and for the answer to the
	// statements that begin it, before it is row 9 with nothing executed; 0 means
	// 5 s.
	Busy time.Duration
	// Isolation of the effect's transaction; the zero value means READ COMMITTED.
	// REPEATABLE READ and SERIALIZABLE see more deadlocks, which are run again.
	Isolation sql.IsolationLevel
	// NoLock leaves out GET_LOCK, for servers and proxies that refuse it or where
	// it holds on one node only. The unique key decides as before; what is lost is
	// that a duplicate is told at once: its effect runs, loses and is rolled back.
	NoLock bool
}

const (
	defaultConnections = 16
	defaultBusy        = 5 * time.Second
)

func single(options []Options) (Options, error) {
	var o Options
	switch len(options) {
	case 0:
	case 1:
		o = options[0]
	default:
		return Options{}, errors.New("mysql: more than one Options")
	}
	if o.Connections <= 0 {
		o.Connections = defaultConnections
	}
	if o.Busy <= 0 {
		o.Busy = defaultBusy
	}
	switch o.Isolation {
	case sql.LevelDefault:
		o.Isolation = sql.LevelReadCommitted
	case sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable:
	default:
		return Options{}, fmt.Errorf("mysql: isolation level %s", o.Isolation)
	}
	return o, nil
}
