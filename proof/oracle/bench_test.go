package oracle

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"

	"github.com/refrain-dev/refrain/fingerprint"
)

// order is a JSON order of about 1 KiB.
func order() []byte {
	line := `{"sku":"TEA-0042","quantity":3,"unit_price":"12.50","weight":0.25,"note":"gift wrap, no \"rush\"","options":["red","large"]}`
	return []byte(`{"customer":{"id":4711,"name":"Zoë Ähren","email":"zoe@example.com"},` +
		`"lines":[` + strings.Repeat(line+",", 5) + line + `],` +
		`"currency":"EUR","total":225.00,"paid":false,"coupon":null,"address":{"street":"Hauptstraße 7","city":"Köln","zip":"50667"}}`)
}

// BenchmarkOrder compares canonicalise + SHA-256 of one order. Ours also
// digests the raw body, as every fingerprint does.
func BenchmarkOrder(b *testing.B) {
	body := order()
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"refrain", func() error {
			_, err := fingerprint.Bytes(fingerprint.RuleJSON, "1", body)
			return err
		}},
		{"refrain-canonical-only", func() error {
			text, err := fingerprint.CanonicalJSON(body, false)
			sha256.Sum256(text)
			return err
		}},
		{"gowebpki", func() error {
			text, err := jcs.Transform(body)
			sha256.Sum256(text)
			return err
		}},
		{"jsontext", func() error {
			text := jsontext.Value(bytes.Clone(body))
			err := text.Canonicalize()
			sha256.Sum256(text)
			return err
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRatio runs ours and gowebpki in turn, so that a busy machine slows
// both, and reports how many times faster ours is. The goal is 2.5.
func BenchmarkRatio(b *testing.B) {
	body := order()
	var ours, theirs time.Duration
	for b.Loop() {
		start := time.Now()
		_, err1 := fingerprint.Bytes(fingerprint.RuleJSON, "1", body)
		middle := time.Now()
		text, err2 := jcs.Transform(body)
		sha256.Sum256(text)
		end := time.Now()
		if err1 != nil || err2 != nil {
			b.Fatal(err1, err2)
		}
		ours += middle.Sub(start)
		theirs += end.Sub(middle)
	}
	b.ReportMetric(float64(theirs)/float64(ours), "times-gowebpki")
}
