package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// batches is an archive of one record in each of two batches, and where the second
// one begins.
func batches(t *testing.T) (file string, second int) {
	t.Helper()
	p := newPast(t)
	file = filepath.Join(t.TempDir(), "receipts.zst")
	for _, key := range []string{"first", "second"} {
		text, _ := os.ReadFile(file)
		second = len(text)
		if _, err := p.do(key); err != nil {
			t.Fatal(err)
		}
		p.says(exitOK, "archived and forgot 1 records", "archive", "--to", file)
	}
	return file, second
}

// find looks for a key in files and demands how that ends and what is said of it.
func find(t *testing.T, exit int, out, errs, key string, files ...string) {
	t.Helper()
	got, stdout, stderr := runMain(t, nil, append(append([]string{"archive", "find"}, files...), "--key", key)...)
	if got != exit || !strings.Contains(stdout, out) || (out == "") != (stdout == "") || !strings.Contains(stderr, errs) || (errs == "") != (stderr == "") {
		t.Errorf("%s in %v: exit %d, want %d\n%s%s", key, files, got, exit, stdout, stderr)
	}
}

// TestArchiveFindBesideDamage: what is found is printed, whatever is wrong beside it,
// and what may be in the damaged part is not told as missing.
func TestArchiveFindBesideDamage(t *testing.T) {
	t.Parallel()
	file, second := batches(t)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other, missing := filepath.Join(t.TempDir(), "other"), filepath.Join(t.TempDir(), "missing")
	for _, at := range []int{second, second + 8, len(whole) - 1} {
		damaged := append([]byte(nil), whole...)
		damaged[at] ^= 0x10
		if err := os.WriteFile(other, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		find(t, exitDatabase, "effect /orders/first", "hint: all that can be read was searched", "first", other)
		find(t, exitDatabase, "", "hint: all that can be read was searched", "second", other)
		find(t, exitDatabase, "effect /orders/second", "other: ", "second", other, file)
	}
	find(t, exitDatabase, "effect /orders/second", "missing", "second", missing, file)
	find(t, exitDiffers, "", "not in the archive", "third", file)
}

// TestArchiveFindCutOff: a key may have been in the end that is cut off.
func TestArchiveFindCutOff(t *testing.T) {
	t.Parallel()
	file, second := batches(t)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := newPast(t)
	for _, n := range []int{second + 1, second + 20, len(whole) - 1} {
		if err := os.WriteFile(file, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		find(t, exitDatabase, "", "its end is cut off", "second", file)
		find(t, exitOK, "effect /orders/first", "its end is cut off", "first", file)
		p.says(exitOK, "its end is cut off", "verify", "--archive", file)
		p.says(exitOK, "its end was a batch that was cut off", "archive", "--to", file)
		find(t, exitDiffers, "", "not in the archive", "second", file)
		if err := os.WriteFile(file, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		p.says(exitOK, "its end was a batch that was cut off", "reap", "--once", "--archive", file)
	}
	if out := p.run(exitOK, "archive", "--to", file); strings.Contains(out, "cut off") {
		t.Errorf("a whole one: %s", out)
	}
}
