// Package failover proves what a PostgreSQL primary with a synchronous standby
// keeps when it is lost: everything that was acknowledged, a replay included,
// and nothing twice. See proof/processes for REFRAIN_PROOF and REFRAIN_SEED.
package failover
