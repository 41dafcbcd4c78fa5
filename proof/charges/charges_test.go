//go:build linux

package charges

import (
	"fmt"
	"slices"
	"testing"

	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/processes"
)

// TestFaults: whatever goes wrong, what the bank counted, what the store knows and
// what the clients were told agree. A seed chooses the provider, the steps, the
// pauses and the moments; from seed to seed the engine changes, too.
func TestFaults(t *testing.T) {
	first := processes.Random(t).Uint64()
	for turn, name := range []string{onFile, engines.Pgx.Name, engines.SQL.Name} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var shop *engines.Shop
			switch name {
			case engines.Pgx.Name:
				shop = newShop(t, engines.Pgx)
			case engines.SQL.Name:
				shop = newShop(t, engines.SQL)
			}
			for n, f := range faults {
				t.Run(f.name, func(t *testing.T) {
					t.Parallel()
					all := make(map[string]*tally)
					for _, k := range kinds {
						all[k.name] = new(tally)
					}
					t.Cleanup(func() { report(t, f, all) })
					for i := range processes.Size(1, 3, 100) {
						if (i+n)%3 == turn && !f.onFile || f.onFile && shop == nil {
							try(t, f, shop, first+uint64(i), n, all)
						}
					}
				})
			}
		})
	}
}

// try runs the n-th fault with a seed.
func try(t *testing.T, f fault, shop *engines.Shop, seed uint64, n int, all map[string]*tally) {
	some := kinds
	if f.repeats {
		some = slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !k.dedupes && !k.final })
	}
	k := some[(int(seed%uint64(len(some)))+n)%len(some)]
	t.Run(fmt.Sprintf("%s, seed %d", k.name, seed), func(t *testing.T) {
		t.Parallel()
		x := newTrial(t, shop, k, seed*100+uint64(n), f.change)
		x.seen = all[k.name]
		w := f.run(x)
		x.check(w)
		w.stop()
	})
}

func report(t *testing.T, f fault, all map[string]*tally) {
	for _, k := range kinds {
		if text := all[k.name].String(); text != "" {
			t.Logf("%s, %s: %s", f.name, k.name, text)
		}
	}
}
