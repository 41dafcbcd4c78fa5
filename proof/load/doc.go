// Package load proves that processes which share a server share their records,
// also while the server kills their sessions: every answer of every process
// fits into one history. See proof/processes for REFRAIN_PROOF and REFRAIN_SEED.
package load
