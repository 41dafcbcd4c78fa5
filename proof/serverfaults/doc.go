// Package serverfaults proves what the engines on servers answer when the server
// is stopped, paused, full, read-only, out of reach or not set up: a clear error
// soon, nothing executed twice, no connection lost. See proof/processes for
// REFRAIN_PROOF.
package serverfaults
