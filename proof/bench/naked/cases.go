package naked

import (
	"context"
	"math/rand/v2"

	"github.com/refrain-dev/refrain/proof/bench/measure"
)

// Cases are the prototype's rows of a suite, named "<prefix> bare" and so on,
// with "<prefix> bare" as their base; replays read among the preloaded keys.
func (n *Naked) Cases(prefix string, preloaded int) []measure.Case {
	bare, replay := prefix+" bare", prefix+" replay"
	grouped := func(ctx context.Context, _, _ int) error {
		_, err := n.Grouped(ctx, RandomKey())
		return err
	}
	read := func(ctx context.Context, _, _ int) error {
		_, err := n.Replay(ctx, Preloaded(rand.IntN(preloaded)))
		return err
	}
	return []measure.Case{
		{Name: bare, Op: func(ctx context.Context, _, _ int) error { return n.Bare(ctx) }},
		{Name: prefix + " single", Base: bare, Op: func(ctx context.Context, _, _ int) error {
			_, err := n.Single(ctx, RandomKey())
			return err
		}},
		{Name: prefix + " grouped", Base: bare, Op: grouped},
		{Name: replay, Base: bare, Op: read},
		{Name: prefix + " replay beside 8 grouped", Base: replay, Op: read, Beside: grouped, BesideCallers: 8},
	}
}
