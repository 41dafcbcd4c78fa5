//go:build linux

package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// SmallDisk mounts a file system of that many bytes, to be filled. It must be
// made before the server on it.
func SmallDisk(t testing.TB, size int64) On {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "a small disk needs root")
	}
	dir, err := os.MkdirTemp("", "refrain-disk-")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", size)); err != nil {
		_ = os.Remove(dir) // empty
		Missing(t, "a small disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		err := syscall.Unmount(dir, 0)
		if err == nil {
			err = os.Remove(dir)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return On(dir)
}

// ballast is the file that fills a disk.
func (d On) ballast() string { return filepath.Join(string(d), "ballast") }

// Fill leaves no room on the disk.
func (d On) Fill(t testing.TB) {
	t.Helper()
	file, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 1<<16); len(block) > 0; {
		if _, err := file.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
}

// Free gives back what Fill took.
func (d On) Free(t testing.TB) {
	t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		t.Fatal(err)
	}
}
