package tour

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/fakeprovider"
	"github.com/refrain-dev/refrain/operation"
)

// bank is a provider of the tour and the step that charges there.
type bank struct {
	server *fakeprovider.Server
	pay    *external.Defined[refrain.SQLTx, order]
}

// The tour's providers, by what they promise.
const (
	sound   = iota // knows a key for a day, and can be asked
	dedupes        // knows a key for a day, and cannot be asked
	asked          // knows no key again, and can be asked
	plain          // neither
)

var promises = [...]struct {
	name           string
	dedupes, query bool
}{
	sound: {"sound", true, true}, dedupes: {"dedupes", true, false}, asked: {"asked", false, true}, plain: {"plain", false, false},
}

// window is how long a provider that knows keys knows one.
const window = 24 * time.Hour

// openBanks starts the providers and makes the runner that knows them.
func (s *payments) openBanks() error {
	providers := make(map[string]external.Provider)
	var steps []external.Step[refrain.SQLTx]
	for _, p := range promises {
		b := &bank{server: fakeprovider.New()}
		s.banks = append(s.banks, b)
		err := b.server.Set(func(s *fakeprovider.Switches) {
			s.Query, s.Window = p.query, 0
			if p.dedupes {
				s.Window = window
			}
		})
		if err != nil {
			return err
		}
		if err := b.server.Start(); err != nil {
			return fmt.Errorf("a provider for the tour: %w", err)
		}
		b.pay = external.Define(external.Effect[refrain.SQLTx, order, struct{}]{
			Name: "charge at " + p.name, Provider: p.name, Settle: s.settle,
			Needs: external.Needs{Dedupes: p.dedupes, Queries: p.query},
			Pace:  operation.Pace{First: 50 * time.Millisecond, Most: 200 * time.Millisecond},
		})
		providers[p.name] = b.provider(p.dedupes, p.query)
		steps = append(steps, b.pay.Step())
	}
	var err error
	s.runner, err = external.New(s.db.Operations(), external.Options{Providers: providers, Poll: 50 * time.Millisecond}, steps...)
	return err
}

func (s *payments) closeBanks() {
	for _, b := range s.banks {
		b.server.Close()
	}
}

// provider is the bank over HTTP, with the terms it keeps.
func (b *bank) provider(dedupes, query bool) *external.HTTP {
	profile := external.Keyed("Idempotency-Key", window)
	profile.Reference = "id"
	if !dedupes {
		profile.Terms = operation.Terms{}
	}
	h := &external.HTTP{Profile: profile, Build: func(ctx context.Context, s external.Submission) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodPost, b.server.URL()+"/charges", bytes.NewReader(s.Input))
	}}
	if query {
		h.Ask = func(ctx context.Context, s external.Submission) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodGet, b.server.URL()+"/charges?key="+url.QueryEscape(s.Key), nil)
		}
		h.Found = found
	}
	return h
}

// found reads a report on a key. The tour asks about charges that were made.
func found(a external.Answer) (operation.Finding, error) {
	var r fakeprovider.Report
	if err := json.Unmarshal(a.Body, &r); err != nil || a.Status != http.StatusOK || r.State != fakeprovider.Charged || len(r.Charges) == 0 {
		return operation.Finding{}, fmt.Errorf("the report with status %d tells of no charge", a.Status)
	}
	return operation.Finding{Found: true, Reply: operation.Reply{End: operation.Confirmed, Reference: r.Charges[0].ID, Status: a.Status, Note: "asked"}}, nil
}
