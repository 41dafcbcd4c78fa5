package pg

import (
	"context"
	"math/rand/v2"

	"github.com/refrain-dev/refrain/proof/bench/measure"
	"github.com/refrain-dev/refrain/proof/bench/naked"
)

// Bare is the base of every row.
const Bare = "bare"

// Cases are the rows of the prototype and of the patterns most services use.
func (n Naked) Cases(g *Group, preloaded int) []measure.Case {
	fresh := func(run func(ctx context.Context, key string) error) measure.Op {
		return func(ctx context.Context, _, _ int) error { return run(ctx, naked.RandomKey()) }
	}
	return []measure.Case{
		{Name: Bare, Op: func(ctx context.Context, _, _ int) error { return n.Bare(ctx) }},
		{Name: "naive", Base: Bare, Op: fresh(n.Naive)},
		{Name: "reserve, then complete", Base: Bare, Op: fresh(n.Reserved)},
		{Name: "naked", Base: Bare, Op: fresh(n.Execute)},
		{Name: "naked group", Base: Bare, Op: fresh(g.Execute)},
		{Name: "naked replay", Base: Bare, Op: func(ctx context.Context, _, _ int) error {
			return n.Replay(ctx, naked.Preloaded(rand.IntN(preloaded)))
		}},
	}
}
