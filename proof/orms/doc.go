// Package orms proves that the transactions of common database toolkits can be
// joined: what a program writes through its own toolkit and the record commit
// together or roll back together.
package orms
