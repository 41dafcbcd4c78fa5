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
