package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/fakeprovider"
	"github.com/refrain-dev/refrain/operation"
)

// promises are what the provider can be relied on for; the switches decide.
type promises struct {
	window time.Duration // for which it recognises a repeated key; 0: it does not
	query  bool          // it can be asked by key
}

const usualWindow = 24 * time.Hour

// windows are those that can be chosen. The short one is over in a demo.
var windows = []time.Duration{usualWindow, 30 * time.Second, 0}

// margin is kept free at the end of a window: a process on the provider's own
// machine is not paused for longer.
const margin = 5 * time.Second

// provider is the bank as these promises describe it.
func (p promises) provider(bank *fakeprovider.Server) *external.HTTP {
	profile := external.Keyed("Idempotency-Key", p.window)
	profile.Name, profile.Reference = "fake provider", "id"
	profile.Terms.Margin = margin
	if p.window == 0 { // it takes the key and makes nothing of it
		profile.Terms = operation.Terms{}
	}
	h := &external.HTTP{
		Profile: profile, Timeout: bankTimeout,
		Build: func(ctx context.Context, s external.Submission) (*http.Request, error) {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, bank.URL()+"/charges", bytes.NewReader(s.Input))
			if err == nil {
				r.Header.Set("Content-Type", "application/json")
			}
			return r, err
		},
	}
	if p.query {
		h.Ask = func(ctx context.Context, s external.Submission) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodGet, bank.URL()+"/charges?key="+url.QueryEscape(s.Key), nil)
		}
		h.Found = found
	}
	return h
}

// found reads the provider's report on a key.
func found(a external.Answer) (operation.Finding, error) {
	var r fakeprovider.Report
	if a.Status != http.StatusOK || json.Unmarshal(a.Body, &r) != nil {
		return operation.Finding{}, errors.New("the answer is no report on a key")
	}
	switch {
	case r.State == fakeprovider.Charged && len(r.Charges) > 0:
		return operation.Finding{Found: true, Reply: operation.Reply{
			End: operation.Confirmed, Reference: r.Charges[0].ID, Status: a.Status, Note: "asked: it has charged",
		}}, nil
	case r.State == fakeprovider.Declined:
		return operation.Finding{Found: true, Reply: operation.Reply{End: operation.Refused, Status: a.Status, Note: "asked: it has declined"}}, nil
	case r.State == fakeprovider.Pending:
		return operation.Finding{Found: true, Pending: true}, nil
	case r.State == fakeprovider.NotFound:
		return operation.Finding{}, nil
	}
	return operation.Finding{}, errors.New("the report has no state that is known")
}
