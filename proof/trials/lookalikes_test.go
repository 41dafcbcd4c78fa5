package trials

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/proof/engines"
)

// lookalikes are equal in some collation or normal form, and no two are one text.
var lookalikes = [][2]string{
	{"AbC", "aBc"}, {"é", "e"}, {"ß", "ss"}, {"\u00e9", "e\u0301"}, {"x", "x "}, {"x", "x\x00"}, {"ÿ", "\xff"}, {"日", "目"}, {"ｋ", "k"}, {"İ", "i"},
}

// TestLookalikes: what some collation takes for one are two keys, two subjects and
// two operations on every server, with two effects.
func TestLookalikes(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		store := connect(t, room, session{})
		effects := 0
		apart := func(what string, calls ...refrain.Call) {
			t.Helper()
			met := map[string]bool{}
			for _, again := range []bool{false, true} {
				for _, c := range calls {
					tx := begin(t, store, sql.LevelDefault)
					out, err := tx.execute(c, func(run statement) error { return run(t.Context(), store.insert()) })
					if err := errors.Join(err, tx.commit()); err != nil || out.Replayed != again || met[out.Ref] != again {
						t.Errorf("%s: %+v, %v", what, out, err)
					}
					met[out.Ref] = true
				}
			}
			effects += len(calls)
		}
		for n, pair := range lookalikes {
			var keys, subjects []refrain.Call
			for _, text := range pair {
				key, subject := call(text, "1"), call("k", "1")
				key.Scope = refrain.Tenant(fmt.Sprint("keys ", n))
				subject.Scope = refrain.Tenant(fmt.Sprint("subjects ", n)).Subject(text)
				keys, subjects = append(keys, key), append(subjects, subject)
			}
			apart(fmt.Sprintf("keys %q", pair), keys...)
			apart(fmt.Sprintf("subjects %q", pair), subjects...)
		}
		upper, lower := call("k", "1"), call("k", "1")
		upper.Contract.Operation, lower.Contract.Operation = "Orders.AbC", "Orders.aBc"
		apart("operations", upper, lower)
		if n := store.rows(t); n != effects {
			t.Errorf("%d effects, want %d", n, effects)
		}
	})
}
