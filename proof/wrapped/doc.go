// Package wrapped tries handlers that commit for themselves, guarded by
// refrainhttp.Wrap over SQLite, PostgreSQL and MySQL: the faults of peers over
// HTTP, and real processes that are killed or stopped at each step. Effects are
// lines of a file that no store knows of.
package wrapped
