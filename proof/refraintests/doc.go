// Package refraintests tries refraintest on SQLite: planted faults must be
// found and sound effects and endpoints must pass, through database/sql.
package refraintests
