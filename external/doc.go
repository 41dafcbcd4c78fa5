// Package external performs effects that cannot share the store's transaction: a
// payment, a mail, a message. The intent is committed first; a [Runner] submits
// it under a lease, and what is known of its outcome is recorded. An outcome
// that is not known stays unknown until the provider or a person says more: it
// is never taken for a failure and never blindly submitted again.
package external
