// Package servers starts private database servers for tests that stop, pause,
// fill or reconfigure one, and ends them with the test. A server listens on
// 127.0.0.1 alone and runs as its own user of the operating system, so the test
// must be root; where it is not, or where a server is not installed, the test is
// skipped, and fails with REFRAIN_REQUIRE_SERVICES=1.
package servers
