package storetest

import (
	"github.com/refrain-dev/refrain"
)

// scopesStayApart: no choice of values makes two scopes one, and a key in one
// scope tells nothing of another.
func scopesStayApart[T any](f *fixture[T]) {
	scopes := []refrain.Scope{
		refrain.Tenant("a").Subject("b"),
		refrain.Tenant("a&subject=b"),
		refrain.Tenant("a%26subject%3Db"),
		refrain.Tenant("a=b"),
		refrain.Tenant("a").Subject("b&tenant=c"),
		refrain.Tenant("a&subject=b").Subject("b"),
		refrain.Tenant("ab"),
		refrain.Tenant("a b"),
		refrain.Tenant("a+b"),
		refrain.Tenant("a%20b"),
		refrain.Tenant("a%2Bb"),
		refrain.Tenant("a").Subject("a"),
		refrain.Tenant("a"),
		refrain.Tenant("A"),
		refrain.Tenant("a\x00"),
		refrain.Tenant("tenant=a"),
	}
	var calls []refrain.Call
	for _, scope := range scopes {
		call := f.call("k", "one")
		call.Scope = scope
		calls = append(calls, call)
	}
	f.allApart(calls)
	for i, call := range calls {
		rec, _, err := f.Store.Load(f.ctx, identity(call))
		if err != nil || rec.Record == nil || rec.Record.Identity.Scope != scopes[i].String() {
			f.t.Errorf("scope %s loads %+v, %v", scopes[i], rec.Record, err)
		}
	}

	regional := f.contract
	regional.Operation, regional.Dimensions = "orders.regional", []string{"tenant", "region"}
	var regions []refrain.Call
	for _, region := range []string{"eu", "us", "eu&region=us"} {
		call := f.call("k", "one")
		call.Contract, call.Scope = regional, refrain.Tenant("a").With("region", region)
		regions = append(regions, call)
	}
	f.allApart(regions)
	f.effects(len(scopes) + len(regions))
}

// operationsStayApart: the parts of an identity are never joined into one text.
func operationsStayApart[T any](f *fixture[T]) {
	var calls []refrain.Call
	for _, id := range [][3]string{
		{"t", "a", "b/c"}, {"t", "a/b", "c"}, {"t", "a/b/c", "c"}, {"t", "a.b", "c"}, {"t", "a", "b.c"},
		{"t", "a", "c"}, {"ta", "a", "c"}, {"t", "A", "c"}, {"t", "a-", "c"}, {"t", "a", "-c"}, {"t", "a", "c-"},
	} {
		call := f.call(id[2], "one")
		call.Scope, call.Contract.Operation = refrain.Tenant(id[0]), id[1]
		calls = append(calls, call)
	}
	f.allApart(calls)
}
