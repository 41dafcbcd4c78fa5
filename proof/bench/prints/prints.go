// Package prints gives the benchmark's rows of fingerprinting a JSON body of
// one kilobyte.
package prints

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/gowebpki/jcs"

	"github.com/refrain-dev/refrain/fingerprint"

	"github.com/refrain-dev/refrain/proof/bench/measure"
)

// Order is a JSON order of about one kilobyte.
func Order() ([]byte, error) {
	type item struct {
		SKU      string  `json:"sku"`
		Quantity int     `json:"quantity"`
		Price    float64 `json:"price"`
		Note     string  `json:"note"`
	}
	var items []item
	for i := range 12 {
		items = append(items, item{fmt.Sprintf("SKU-%04d", i*37), i + 1, 12.5 + float64(i), "line \u00e9 \"quoted\""})
	}
	return json.Marshal(map[string]any{
		"customer": map[string]any{"name": "North Tea", "id": 90071992, "vip": true, "ref": nil},
		"items":    items, "currency": "EUR", "express": false,
	})
}

// Cases are the rows, base first.
func Cases() ([]measure.Case, error) {
	body, err := Order()
	if err != nil {
		return nil, err
	}
	size := fmt.Sprintf(", %d B", len(body))
	base := "gowebpki/jcs + SHA-256" + size
	return []measure.Case{
		{Name: base, Op: func(context.Context, int, int) error {
			text, err := jcs.Transform(bytes.Clone(body))
			_ = sha256.Sum256(text)
			return err
		}},
		{Name: "fingerprint json-exact/1" + size, Base: base, Op: func(context.Context, int, int) error {
			_, err := fingerprint.Bytes(fingerprint.RuleJSON, "1", body)
			return err
		}},
		{Name: "fingerprint raw/1" + size, Base: base, Op: func(context.Context, int, int) error {
			_, err := fingerprint.Bytes(fingerprint.RuleRaw, "1", body)
			return err
		}},
	}, nil
}
