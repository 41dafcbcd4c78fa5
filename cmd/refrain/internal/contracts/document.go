// Package contracts compares published contracts and describes them as OpenAPI.
package contracts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain"
)

// Published is one contract as it was published.
type Published struct {
	refrain.Contract
	// Members are its members as text, defaults put in, also those that this
	// binary does not know.
	Members map[string]json.RawMessage
}

// UnmarshalJSON reads the published form.
func (p *Published) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	if err := p.Contract.UnmarshalJSON(text); err != nil {
		return err
	}
	if p.Operation == "" || p.RememberFor <= 0 {
		return errors.New("a contract needs operation and remember_for")
	}
	known, err := p.Contract.MarshalJSON()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(known, &members); err != nil {
		return err
	}
	for name, value := range members {
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return err
		}
		members[name] = compact.Bytes()
	}
	p.Members = members
	return nil
}

// Parse reads one published contract, a list of them, or a document that has
// them as "contracts".
func Parse(text []byte) ([]Published, error) {
	text = bytes.TrimSpace(text)
	var list []Published
	var err error
	if bytes.HasPrefix(text, []byte("[")) {
		err = json.Unmarshal(text, &list)
	} else {
		var doc struct {
			Contracts *[]Published `json:"contracts"`
		}
		if err = json.Unmarshal(text, &doc); err == nil && doc.Contracts != nil {
			list = *doc.Contracts
		} else if err == nil {
			list = make([]Published, 1)
			err = json.Unmarshal(text, &list[0])
		}
	}
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	for _, p := range list {
		if seen[p.Operation] {
			return nil, fmt.Errorf("the operation %q appears twice", p.Operation)
		}
		seen[p.Operation] = true
	}
	return list, nil
}
