// Package processes runs the real program as separate processes on one database
// file, talks to them as clients do, and walks the file afterwards. Its tests
// prove that duplicates spread over processes share one effect; those of
// proof/crash use it to prove the same under SIGKILL.
//
// REFRAIN_PROOF decides how much is run: unset a moment, 1 the short form, full
// the numbers in proof/results. REFRAIN_SEED repeats a run's random choices;
// every test prints the seed it used.
package processes
