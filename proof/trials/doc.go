// Package trials tries the product from outside: real requests to a real
// server, effects counted in the business table, never by what was answered.
//
// The trials of public bug reports run over every engine, those on PostgreSQL and
// MySQL included; the rules a black-box checker would apply to a server run over
// SQLite. storetest/cases.md says which trial holds which report.
package trials
