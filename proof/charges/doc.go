// Package charges proves what faults of real processes can do to charges at a
// provider. Workers, which are this test binary again, serve payments and run
// them; they are killed and stopped at named steps and at random moments, the
// provider loses answers, the database goes away, a clock is wrong. The provider
// is in the test's process and counts for itself. See proof/processes for
// REFRAIN_PROOF and REFRAIN_SEED.
package charges
