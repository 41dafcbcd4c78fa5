package shop

import (
	"context"
	"net/http"
	"time"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/timeline"
)

// tenantPayments are a tenant's payments as the page shows them.
type tenantPayments struct {
	Tenant   string
	Count    int64
	Payments []paymentShown
}

type paymentShown struct {
	payment
	Timelines []timeline.Timeline
}

func (s *Shop) paymentsShown(ctx context.Context, tenant string) (list []paymentShown, count int64, err error) {
	payments, count, err := s.payments(ctx, tenant, shown)
	for _, p := range payments {
		all, err := s.db.Operations().Of(ctx, p.Ref)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, paymentShown{p, timeline.All(all)})
	}
	return list, count, err
}

// choices are what the form of the switches offers.
type choices struct {
	Faults          []choice
	Delays, Windows []choice
}

var offered = choices{faults, named(delays, "none"), named(windows, "none: a repeat charges again")}

func named(all []time.Duration, none string) (list []choice) {
	for _, d := range all {
		c := choice{d.String(), d.String()}
		if d == 0 {
			c.Name = none
		}
		list = append(list, c)
	}
	return list
}

// tryPayment sends the form's payment under a fresh key, and the same once more
// where the button says so.
func (s *Shop) tryPayment(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be read.", http.StatusBadRequest)
		return
	}
	body := `{"account":` + textOf(r.PostForm.Get("account")) + `,"amount":` + numberOf(r.PostForm.Get("amount")) +
		`,"currency":` + textOf(r.PostForm.Get("currency")) + `}`
	bodies := []string{body}
	if r.PostForm.Get("again") == "same" {
		bodies = append(bodies, body)
	}
	s.sendAll(w, r, "/v1/payments", bodies...)
}
