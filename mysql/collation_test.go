package mysql

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/record"
)

// lookalikes are equal in some collation, and no two of them are one text.
var lookalikes = [][2]string{
	{"AbC", "aBc"}, {"é", "e"}, {"ß", "ss"}, {"\u00e9", "e\u0301"}, {"x", "x "}, {"x ", "x  "}, {"x", "x\x00"}, {"ÿ", "\xff"}, {"日", "目"},
}

// Whatever the collation of the database, of the connection and of the table's
// neighbours: keys, scopes and operations are compared byte for byte.
func TestLookalikes(t *testing.T) {
	for _, collation := range []string{"CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", "CHARACTER SET latin1 COLLATE latin1_swedish_ci"} {
		for name, open := range map[string]func(testing.TB, *driverlib.Config, Options) *DB{"Open": opened, "New": onForeign} {
			t.Run(collation+"/"+name, func(t *testing.T) {
				s := newShop(t, collation)
				db := open(t, s.cfg, Options{})
				for i, pair := range lookalikes {
					t.Run(fmt.Sprintf("%q", pair), func(t *testing.T) { tellApart(t, db, i, pair) })
				}
				tellOperationsApart(t, s, db)
			})
		}
	}
}

func tellApart(t *testing.T, db *DB, i int, pair [2]string) {
	keys, scopes := [2]refrain.Call{}, [2]refrain.Call{}
	for n, text := range pair {
		keys[n], scopes[n] = order(text), order("k")
		keys[n].Scope = refrain.Tenant(fmt.Sprint("keys ", i))
		scopes[n].Scope = refrain.Tenant(fmt.Sprint("scopes ", i)).Subject(text)
	}
	for what, calls := range map[string][2]refrain.Call{"keys": keys, "scopes": scopes} {
		a, b := mustBuy(t, db, calls[0]), mustBuy(t, db, calls[1])
		if a.Replayed || b.Replayed || a.Ref == b.Ref {
			t.Errorf("%s: two actions became one", what)
		}
		for n, first := range []refrain.Outcome{a, b} {
			if again := mustBuy(t, db, calls[n]); !again.Replayed || again.Ref != first.Ref {
				t.Errorf("%s: %q replays %s of %s", what, pair[n], again.Ref, first.Ref)
			}
			rec, err := db.Find(t.Context(), first.Ref)
			if err != nil || rec.Identity != identityOf(t, calls[n]) {
				t.Errorf("%s: found %+v, %v", what, rec.Identity, err)
			}
			like := record.Record{Identity: record.Identity{Scope: calls[n].Scope.String()}}
			if list, err := db.List(t.Context(), like, 10); what == "scopes" && (err != nil || len(list) != 1 || list[0].Ref != first.Ref) {
				t.Errorf("the list of scope %q has %d records, %v", pair[n], len(list), err)
			}
		}
	}
}

// tellOperationsApart: ids of operations are ASCII, so only letter case could
// merge them, and all that names one.
func tellOperationsApart(t *testing.T, s shop, db *DB) {
	calls := [2]refrain.Call{order("k"), order("k")}
	calls[0].Contract.Operation, calls[1].Contract.Operation = "Orders.AbC", "Orders.aBc"
	calls[1].Contract.Dimensions = []string{"tenant"} // another identity, which must not be taken for the other's
	for _, call := range calls {
		if out := mustBuy(t, db, call); out.Replayed {
			t.Error("two operations became one")
		}
		if err := db.Register(t.Context(), call.Contract); err != nil {
			t.Error(err)
		}
	}
	must(t, s.raw, "INSERT INTO refrain_fence (operation, scope, until, reason, `by`, at) VALUES ('Orders.AbC', '', 7, '', '', 0)")
	for i, call := range calls {
		seen, _, err := db.Load(t.Context(), identityOf(t, call))
		if err != nil || seen.FenceUntil.IsZero() != (i == 1) {
			t.Errorf("%s is fenced until %v, %v", call.Contract.Operation, seen.FenceUntil, err)
		}
		recs, _, err := db.Oldest(t.Context(), Query{State: "confirmed", Operation: call.Contract.Operation})
		if err != nil || len(recs) != 1 {
			t.Errorf("%s has %d records, %v", call.Contract.Operation, len(recs), err)
		}
	}
	move := Rekey{Operation: "Orders.AbC", To: "Orders.ABC", By: "ops", Reason: "spelling"}
	if done, err := db.Rekey(t.Context(), move); err != nil || done.Records != 1 {
		t.Errorf("Rekey: %+v, %v", done, err)
	}
	if _, err := db.Rekey(t.Context(), move); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("Rekey again: %v", err)
	}
	if again := mustBuy(t, db, calls[1]); !again.Replayed {
		t.Error("the other operation's record moved along")
	}
}

// The longest scope a contract admits has its place, and so has a rule's name.
func TestLongestScope(t *testing.T) {
	s := newShop(t, "CHARACTER SET utf8mb4")
	db := opened(t, s.cfg, Options{})
	call := order(strings.Repeat("k", record.MaxKey))
	call.Contract.Operation = strings.Repeat("o", 100)
	call.Contract.Meaning = func(r fingerprint.Request) ([]byte, error) { return r.Body, nil }
	call.Contract.MeaningRule = strings.Repeat("r", 1000)
	call.Actor = strings.Repeat("a", 100_000)
	call.Contract.Dimensions = []string{"tenant"}
	call.Scope = refrain.Tenant(strings.Repeat("&", 255))
	for i := range 7 {
		name := strings.Repeat("/", 99) + fmt.Sprint(i)
		call.Contract.Dimensions = append(call.Contract.Dimensions, name)
		call.Scope = call.Scope.With(name, strings.Repeat("=", 255))
	}
	out, err := db.Execute(t.Context(), call, buys("k"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := db.Execute(t.Context(), call, buys("twice")); err != nil || !again.Replayed || again.Ref != out.Ref {
		t.Errorf("replay %+v, %v", again.Ref, err)
	}
	move := Rekey{Operation: call.Contract.Operation, Drop: call.Contract.Dimensions[1:], By: "ops", Reason: "shorter"}
	if done, err := db.Rekey(t.Context(), move); err != nil || done.Records != 1 || done.Identity != "tenant" {
		t.Errorf("Rekey: %+v, %v", done, err)
	}
	if rec, err := db.Find(t.Context(), out.Ref); err != nil || rec.Print.Rule != call.Contract.MeaningRule || rec.Actor != call.Actor {
		t.Errorf("found %v", err)
	}
}
