package trials

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNamesOfTrials: every test that storetest/cases.md names exists in the
// package it is said to be in. The names without a package are properties of
// storetest, which checks them itself.
func TestNamesOfTrials(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "storetest", "cases.md"))
	if err != nil {
		t.Fatal(err)
	}
	defined := map[string]string{} // the tests' text by package directory
	named := regexp.MustCompile(`([a-z][a-z/]*) (Test\w+(?:, Test\w+)*)`)
	unnamed := regexp.MustCompile(`Test\w+`)
	rows := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| B") {
			continue
		}
		rows++
		covered := 0
		for _, found := range named.FindAllStringSubmatch(line, -1) {
			dir := found[1]
			if _, read := defined[dir]; !read {
				defined[dir] = source(t, filepath.Join(root, filepath.FromSlash(dir)))
			}
			for _, test := range strings.Split(found[2], ", ") {
				covered++
				if !strings.Contains(defined[dir], "\nfunc "+test+"(t *testing.T)") {
					t.Errorf("%.5s names %s of %s, which does not exist", line, test, dir)
				}
			}
		}
		if all := len(unnamed.FindAllString(line, -1)); all != covered {
			t.Errorf("%.5s names %d tests, %d of them with a package: %s", line, all, covered, line)
		}
	}
	if rows != 36 {
		t.Errorf("%d rows", rows)
	}
}

// source is the text of a directory's tests.
func source(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Errorf("no tests in %s: %v", dir, err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		all.Write(text)
	}
	return all.String()
}
