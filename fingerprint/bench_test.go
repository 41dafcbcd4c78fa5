package fingerprint

import (
	"strings"
	"testing"
)

// orderBody is an order of about 1 KiB, its members not in canonical order.
func orderBody() []byte {
	line := `{"sku":"TEA-0042","quantity":3,"unit_price":"12.50","weight":0.25,"note":"gift wrap, no \"rush\"","options":["red","large"]}`
	return []byte(`{"customer":{"id":9007199254740993,"name":"Zoë Ähren","email":"zoe@example.com"},` +
		`"lines":[` + strings.Repeat(line+",", 5) + line + `],` +
		`"currency":"EUR","total":225.00,"paid":false,"coupon":null,"address":{"street":"Hauptstraße 7","city":"Köln","zip":"50667"}}`)
}

// Fingerprinting an order must stay cheap: the budget is 20 allocations.
func TestAllocations(t *testing.T) {
	body := orderBody()
	req := Request{Method: "POST", Target: "/orders", Route: "/orders", ContentType: "application/json", Schema: "1", Body: body}
	for name, run := range map[string]func() error{
		"Bytes":   func() error { _, err := Bytes(RuleJSON, "1", body); return err },
		"Compute": func() error { _, err := Compute(req, Options{}); return err },
	} {
		allocs := testing.AllocsPerRun(100, func() {
			if err := run(); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%s: %v allocations for %d bytes", name, allocs, len(body))
		if allocs > 20 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	body := orderBody()
	for _, rule := range []string{RuleJSON, RuleRaw} {
		b.Run(rule, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Bytes(rule, "1", body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The dearest body of 1 MiB: every level out of order, so every level moves
// all that is below it.
func BenchmarkDisorderAtEveryDepth(b *testing.B) {
	levels := MaxDepth - 1
	body := []byte(strings.Repeat(`{"b":0,"a":`, levels) + `"` + strings.Repeat("x", 1<<20-levels*13) + `"` + strings.Repeat("}", levels))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := CanonicalJSON(body, false); err != nil {
			b.Fatal(err)
		}
	}
}
