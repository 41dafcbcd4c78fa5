// Package wire is a TCP proxy between a client and a server that breaks their
// connections where a test says: after a number of bytes, at a step of the
// database's protocol, by silence, delay or refusal.
package wire
