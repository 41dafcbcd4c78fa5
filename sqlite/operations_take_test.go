package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/refrain-dev/refrain/operation"
)

// Whoever looks in vain takes no lock: another process may hold it for long.
func TestTakeNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db := openAt(t, path)
	unlock := lock(t, plain(t, path))
	defer unlock()
	ops, now, err := db.Operations().Take(t.Context(), "pay", 10, func(operation.Seen) operation.Edit { return operation.Edit{} })
	if err != nil || len(ops) != 0 || now.IsZero() {
		t.Errorf("Take: %v at %v, %v", ops, now, err)
	}
}
