package main

import (
	"encoding/json"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/contracts"
)

// printOpenAPI describes the contracts of a document to clients and tools.
func (m *Main) printOpenAPI(doc json.RawMessage) error {
	fragment, err := contracts.OpenAPI(doc)
	if err != nil {
		return unusable("point --url at a service that publishes its contracts", "the document is not one of contracts: %w", err)
	}
	return printJSON(m.Stdout, fragment)
}
