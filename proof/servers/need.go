//go:build linux

package servers

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for a server.
const patience = time.Minute

// Missing skips the test, or fails it where services are required.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	what := fmt.Sprintf(format, args...)
	if os.Getenv("REFRAIN_REQUIRE_SERVICES") == "1" {
		t.Fatalf("%s, and REFRAIN_REQUIRE_SERVICES=1", what)
	}
	t.Skipf("skipped: %s", what)
}

// account is the user a server runs as.
func account(t testing.TB, name string) *syscall.Credential {
	t.Helper()
	if os.Getenv("REFRAIN_TEST_PRIVATE") == "none" {
		Missing(t, "REFRAIN_TEST_PRIVATE=none switches private servers off")
	}
	if os.Geteuid() != 0 {
		Missing(t, "a private server needs root, to run as the user %s", name)
	}
	found, err := user.Lookup(name)
	if err != nil {
		Missing(t, "a private server needs the user %s", name)
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// program finds a server's program in dirs, then where programs are.
func program(t testing.TB, name string, dirs ...string) string {
	t.Helper()
	for _, dir := range append(dirs, "/usr/sbin", "/usr/local/sbin") {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "%s is not installed", name)
	}
	return path
}

// folder makes a folder of the account below on, or below the system's folder
// for such things if on is empty. A test's own TempDir is closed to other users,
// and its name too long for a socket.
func folder(t testing.TB, on, pattern string, as *syscall.Credential) string {
	t.Helper()
	dir, err := os.MkdirTemp(on, pattern)
	if err == nil {
		err = os.Chown(dir, int(as.Uid), int(as.Gid))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Ports are taken below those the system gives to connections, so that a server
// that comes back finds its own still free.
const firstPort, ports = 20000, 12000

var nextPort atomic.Int64

func init() { nextPort.Store(int64(os.Getpid()) * 61 % ports) } // two test binaries begin at different ones

// freePort is a port on 127.0.0.1 that nobody listens on.
func freePort(t testing.TB) int {
	t.Helper()
	for range ports {
		port := firstPort + int(nextPort.Add(1)%ports)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatal("no port is free")
	return 0
}
