// Package cuts proves what becomes of an action whose connection breaks at any
// byte: whatever its client was told, repeats by the same key end in one effect
// and one answer. See proof/processes for REFRAIN_PROOF and REFRAIN_SEED.
package cuts
