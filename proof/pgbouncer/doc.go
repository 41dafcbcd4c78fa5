// Package pgbouncer proves the PostgreSQL engines behind PgBouncer in
// transaction mode, where two transactions of one client may run in two sessions.
package pgbouncer
