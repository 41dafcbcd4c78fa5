// Package mysql is the engine for MySQL and MariaDB: an effect and its record
// commit in one transaction.
//
// [Open] makes connections of its own, which see every statement of an effect and
// take no more round trips than the bare transaction; it takes the driver's form
// of a data source name, user:password@tcp(host:3306)/shop. [New] works on a
// handle of the application's.
//
// What it needs of the server, and what it answers when that fails, is in
// docs/engines/mysql.md.
package mysql
