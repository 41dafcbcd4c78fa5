package shop

import (
	"context"
	"slices"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// charged is what can be told of a payment that waits; waits is false while a
// machine will look again.
func (s *Shop) charged(ctx context.Context, rec record.Record) (v verdict, waits bool, err error) {
	all, err := s.db.Operations().Of(ctx, rec.Ref)
	if err != nil {
		return v, false, err
	}
	i := slices.IndexFunc(all, func(o operation.Operation) bool { return o.Disputed || !o.State.Final() })
	if i < 0 {
		return verdict{evidence: "its charge is settled"}, true, nil
	}
	o := all[i]
	if o.Provider != s.till.name {
		return verdict{evidence: "its provider ended with another process, and " + o.Why, reason: "its provider is gone"}, true, nil
	}
	v = verdict{evidence: "the provider lists no charge; " + o.Why, reason: "the provider lists no charge"}
	if charges := s.till.bank.Report(o.Key).Charges; len(charges) > 0 {
		v = verdict{true, charges[0].ID, "the provider lists charge " + charges[0].ID + "; " + o.Why, "the provider lists the charge"}
	}
	return v, o.Disputed || o.Due.IsZero(), nil
}
