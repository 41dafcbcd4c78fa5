package refrain_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const maxLines = 500

// filesOf lists the tree's files with the given name ending, slash-separated, from the root.
func filesOf(t *testing.T, ending string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".ci":
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(name, ending):
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no file ends in %s: the walk is broken", ending)
	}
	return files
}

// TestFileSize keeps one idea in one file: what outgrows the cap is split by name.
func TestFileSize(t *testing.T) {
	t.Parallel()
	for _, file := range filesOf(t, ".go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("\n")); lines > maxLines {
			t.Errorf("%s has %d lines, more than %d", file, lines, maxLines)
		}
	}
}
