package external_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/fakeprovider"
	"github.com/refrain-dev/refrain/operation"
)

// Writing a provider: what its documentation promises is a Profile, how its
// requests look is Build.
func ExampleHTTP() {
	bank := fakeprovider.New()
	if err := bank.Start(); err != nil {
		log.Fatal(err)
	}
	defer bank.Close()

	provider := &external.HTTP{
		Profile: external.Profile{
			Name:      "the bank",
			Terms:     operation.Terms{Dedupes: true, DedupesFor: 24 * time.Hour, KeyMax: 255},
			KeyHeader: "Idempotency-Key",
			Reference: "id",
			Rules: []external.Rule{
				{Status: []int{402}, Header: "Idempotent-Replayed", Value: "true", End: operation.Refused, Stored: true},
				{Status: []int{400, 402}, End: operation.Refused},
				{Status: []int{409}, End: operation.Lost, Note: "the key is in use"},
				{Status: []int{422}, End: operation.Lost, Park: true, Note: "the key stands for another payload"},
			},
		},
		Build: func(ctx context.Context, s external.Submission) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, "", bank.URL()+"/charges", bytes.NewReader(s.Input))
		},
	}
	defer provider.Close()
	if err := provider.Validate(); err != nil {
		log.Fatal(err)
	}

	// What a Runner does with it: the bank charges, and its answer is lost.
	if err := bank.Set(func(w *fakeprovider.Switches) { w.Fault, w.Times = fakeprovider.LoseAnswer, 1 }); err != nil {
		log.Fatal(err)
	}
	charge := external.Submission{Key: "order-17", Input: []byte(`{"account":"anna","amount":500,"currency":"EUR"}`)}
	fmt.Println(provider.Submit(context.Background(), charge).End)
	charge.Repeats = true // the terms permit it: the window is open
	again := provider.Submit(context.Background(), charge)
	fmt.Println(again.End, again.Reference)
	fmt.Println(len(bank.Charges()), "charge")
	// Output:
	// lost
	// confirmed ch_000001
	// 1 charge
}
