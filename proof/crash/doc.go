// Package crash proves what a SIGKILL can leave behind: of a real process under
// load at random moments, and of a small one at named boundaries. See
// proof/processes for REFRAIN_PROOF and REFRAIN_SEED.
package crash
