// Package postgres is the engine for PostgreSQL: an effect and its record commit
// in one transaction, with the round trips of the bare transaction and no more.
//
// [Open] or [New] give a [DB] on pgx, whose effects get a pgx.Tx. [DB.Group]
// shares one COMMIT between many callers, for effects that are lists of
// statements. [NewSQL] works on a *sql.DB with any driver.
//
// What it needs of the server, and what it answers when that fails, is in
// docs/engines/postgres.md.
package postgres
