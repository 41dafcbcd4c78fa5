package upkeep

import (
	"fmt"

	"github.com/refrain-dev/refrain"
)

// Status is how far a database is migrated.
type Status struct {
	Version int `json:"version"` // 0: no Refrain tables
	Newest  int `json:"newest"`  // the version this binary brings it to
}

// Check reports a database that is not at this binary's version.
func (s Status) Check() error {
	switch {
	case s.Version > s.Newest:
		return fmt.Errorf("%w: version %d, this binary knows %d", refrain.ErrNewerSchema, s.Version, s.Newest)
	case s.Version < s.Newest:
		return fmt.Errorf("%w: version %d of %d", refrain.ErrNotMigrated, s.Version, s.Newest)
	}
	return nil
}
