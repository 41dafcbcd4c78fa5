package refrain

import (
	"encoding/json"
	"fmt"
)

// Supersedes is for engine authors: it reports whether a store that keeps an
// operation under the identity version, and its contract in the published form,
// may keep c instead.
//
// Another identity version is [ErrContractChanged]: the records would not be
// found any more. A shorter RememberFor is [ErrShorterMemory]: clients may count
// on the longer one. Everything else is taken: a process that was rolled back
// starts with its older rule, schema and limits.
func (c Contract) Supersedes(identity string, published []byte) error {
	if identity != c.IdentityVersion() {
		return fmt.Errorf("%w: the identity of %q is %q in the store and %q in this contract; "+
			"restore it, use another operation id, or move the records: refrain contract rekey --operation %s",
			ErrContractChanged, c.Operation, identity, c.IdentityVersion(), c.Operation)
	}
	if len(published) == 0 {
		return nil
	}
	var stored struct {
		RememberFor string `json:"remember_for"`
	}
	if err := json.Unmarshal(published, &stored); err != nil {
		return fmt.Errorf("refrain: the stored contract of %q: %w", c.Operation, err)
	}
	memory, err := parseISODuration(stored.RememberFor)
	if err != nil {
		return fmt.Errorf("refrain: the stored contract of %q: remember_for: %w", c.Operation, err)
	}
	if c.RememberFor < memory {
		return fmt.Errorf("%w: %q is remembered for %s in the store and for %s in this contract; "+
			"keep the longer memory, or agree to the shorter one: refrain contract register --yes FILE",
			ErrShorterMemory, c.Operation, stored.RememberFor, isoDuration(c.RememberFor))
	}
	return nil
}
