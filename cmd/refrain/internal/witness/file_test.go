package witness

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := File(filepath.Join(dir, "witness"))
	if _, err := f.Load(t.Context()); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("without a file: %v", err)
	}
	for counter := range int64(3) {
		want := upkeep.Incarnation{Store: "ab", Epoch: 1, Counter: counter, At: time.Unix(1_700_000_000, 5000).UTC()}
		if err := f.Save(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Load(t.Context()); err != nil || got != want {
			t.Errorf("loaded %+v, %v; saved %+v", got, err, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the directory has %v, %v", left, err)
	}
}

// TestFileUnreadable: a witness that cannot be read is not one that saw nothing.
func TestFileUnreadable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "witness")
	for _, text := range []string{"", "{}", `{"store":`, "notes"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := File(path).Load(t.Context()); err == nil || errors.Is(err, record.ErrNotFound) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := File(filepath.Join(path, "below")).Save(t.Context(), upkeep.Incarnation{Store: "ab"}); err == nil {
		t.Error("saved below a file")
	}
}

// TestLink: a link stays one, and what it names is written, there already or not.
func TestLink(t *testing.T) {
	t.Parallel()
	here, there := t.TempDir(), t.TempDir()
	link := func(name, to string) string {
		path := filepath.Join(here, name)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	far := filepath.Join(there, "witness")
	near, err := filepath.Rel(here, far)
	if err != nil {
		t.Fatal(err)
	}
	dir := link("dir", there)
	for counter, path := range []string{link("first", far), link("relative", near), link("second", "first"), filepath.Join(dir, "witness"), link("below", "dir/witness")} {
		for range 2 {
			want := upkeep.Incarnation{Store: "ab", Counter: int64(counter)}
			if err := File(path).Save(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			if got, err := File(far).Load(t.Context()); err != nil || got != want {
				t.Errorf("%s: %+v, %v", path, got, err)
			}
		}
		if err := os.Remove(far); err != nil {
			t.Error(err)
		}
	}
	for dir, want := range map[string]int{here: 5, there: 0} {
		if left, err := os.ReadDir(dir); err != nil || len(left) != want {
			t.Errorf("%s has %v, %v", dir, left, err)
		}
	}
	if err := File(link("loop", "loop")).Save(t.Context(), upkeep.Incarnation{Store: "ab"}); err == nil {
		t.Error("saved behind a link to itself")
	}
}
