// Package engine opens the database that --db names, whichever engine it is of,
// and keeps what differs between engines from the commands.
package engine

import (
	"context"
	"database/sql"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/upkeep"
)

// Place is where a database is, or will be; nothing is opened yet.
type Place interface {
	// String is the place as --db names it, without its password.
	String() string
	// Open opens the database as services do. A SQLite file is made where it is
	// missing; a server's database is not.
	Open(ctx context.Context, o Options) (Database, error)
	// OpenAsItIs opens a database that exists and changes nothing of it.
	OpenAsItIs(ctx context.Context, o Options) (Database, error)
	// Own is a place for a tour to work in, where nobody else does: on a server a
	// new one with a random name, which remove takes away with all it holds; of
	// SQLite this very file, which must be new or empty and is kept.
	Own(ctx context.Context) (own Place, remove func(context.Context) error, err error)
	// Schema is the SQL that a migration runs on an empty database.
	Schema() string
}

// Database is an open database, as the commands and the shop need it.
type Database interface {
	upkeep.Keeper
	refrain.Executor[refrain.SQLTx]

	// Operations are the external operations beside the records.
	Operations() operation.Store[refrain.SQLTx]
	// Reader is for reads of the application's own.
	Reader() *sql.DB
	// Setup runs statements that make the application's tables.
	Setup(ctx context.Context, statements ...string) error
	// Update runs work in one transaction without a record.
	Update(ctx context.Context, work func(ctx context.Context, tx refrain.SQLTx) error) error
	// SQL is a statement in the words of this engine. Arguments are written ?,
	// each once and in order, and the application's tables and column types as
	// [words] names them.
	SQL(statement string) string
	// Empty reports whether there is no table at all where Refrain's belong, but
	// what a migration under way has made.
	Empty(ctx context.Context) (bool, error)
	// Notice is what whoever looks at the database should know of how it was
	// opened, "" for nothing.
	Notice() string
}

// Options of an open database. The zero value is a service's.
type Options struct {
	Now      func() time.Time // nil is the engine's clock
	Observer refrain.Observer
	Patience time.Duration // how long a write waits for others; 0 is the engine's own
	Brief    bool          // for a short command: as few connections as will do
}
