package mysql

import (
	"slices"
	"strings"
)

// batch is how many rows one statement names.
const batch = 500

func inBatches[E any](all []E, do func([]E) error) error {
	for part := range slices.Chunk(all, batch) {
		if err := do(part); err != nil {
			return err
		}
	}
	return nil
}

// marks are n placeholders.
func marks(n int) string { return `?` + strings.Repeat(`, ?`, n-1) }
