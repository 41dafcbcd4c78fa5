// Package outbox sends messages that belong to a business transaction: Publish
// writes the message in it, and after the commit a runner delivers it at least
// once, to a signed webhook, a broker or a function. A message is an external
// operation whose provider is a sink; nothing here is a second machine.
//
// Receivers recognise a repeated delivery by its id, which is the same for every
// attempt. Messages of one partition are delivered in the order of their
// insertion, one after the other.
package outbox
