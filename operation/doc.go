// Package operation is the pure domain of external operations: effects that
// cannot share the store's transaction, such as a payment, a mail or a message
// to a broker. It holds what is known of one, decides what may happen next, and
// says what a store must offer. It does no I/O; package external submits.
//
// Nothing here turns an unknown outcome into a failure. A submission that may
// have left is repeated only where the provider's declared [Terms] make that
// safe, or where a person decides.
package operation
