package processes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"
)

// build is done by the first test that needs it; Main removes the result.
var build = sync.OnceValues(func() (path string, err error) {
	dir, err := os.MkdirTemp("", "refrain-proof-")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "refrain")
	args := []string{"build", "-o", path}
	if raceDetector() {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Dir = filepath.Join("..", "..", "cmd", "refrain") // from the tests' directory
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("build the program: %w\n%s", err, out), os.RemoveAll(dir))
	}
	built = dir
	return path, nil
})

var built string // the directory to remove

// Program is the path of the program, built once per test binary and under the
// race detector where the tests are.
func Program(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Main runs a package's tests and removes the program they built.
func Main(m *testing.M) int {
	code := m.Run()
	if built != "" {
		if err := os.RemoveAll(built); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

func raceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	for _, setting := range info.Settings {
		if setting.Key == "-race" {
			return setting.Value == "true"
		}
	}
	return false
}
