package sqlite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

// A shorter memory needs somebody who agrees, and changes no record.
func TestRegisterShorterMemory(t *testing.T) {
	db := openShop(t)
	if err := db.Register(t.Context(), contract); err != nil {
		t.Fatal(err)
	}
	first := mustRun(t, db, call("k"), put("k"))
	shorter := contract
	shorter.RememberFor = contract.RememberFor - time.Second
	err := db.Register(t.Context(), shorter)
	if !errors.Is(err, refrain.ErrShorterMemory) || !strings.Contains(err.Error(), "refrain contract register --yes") {
		t.Errorf("a shorter memory registers with %v", err)
	}
	fresh := named("orders.fresh", "k").Contract
	if err := db.Register(t.Context(), fresh, shorter); !errors.Is(err, refrain.ErrShorterMemory) {
		t.Errorf("beside another: %v", err)
	}
	if contracts, err := db.Contracts(t.Context()); err != nil || len(contracts) != 1 || !strings.Contains(contracts["orders.create"], `"remember_for":"PT2H"`) {
		t.Errorf("a refused Register stored %v, %v", contracts, err)
	}
	if err := db.RegisterShorter(t.Context(), shorter); err != nil {
		t.Fatal(err)
	}
	if err := db.Register(t.Context(), shorter); err != nil {
		t.Errorf("after somebody agreed: %v", err)
	}
	c := call("k")
	c.Contract = shorter
	if again := mustRun(t, db, c, put("twice")); !again.RememberUntil.Equal(first.RememberUntil) {
		t.Errorf("the deadline was %v and is %v", first.RememberUntil, again.RememberUntil)
	}
	changed := shorter
	changed.Dimensions = []string{"tenant"}
	if err := db.RegisterShorter(t.Context(), changed); !errors.Is(err, refrain.ErrContractChanged) {
		t.Errorf("other dimensions register with %v", err)
	}
}

// A process that learned the operation by its first call is asked as well.
func TestRegisterShorterThanLearned(t *testing.T) {
	db := openShop(t)
	mustRun(t, db, call("k"), put("k"))
	shorter := contract
	shorter.RememberFor--
	if err := db.Register(t.Context(), shorter); !errors.Is(err, refrain.ErrShorterMemory) {
		t.Errorf("registers with %v", err)
	}
}

// Two processes with compatible contracts work side by side on one file, and one
// that was rolled back starts: it knows its older rule.
func TestRegisterSideBySide(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	older, newer := openAt(t, path), openAt(t, path)
	next := contract
	next.Schema, next.Wait, next.Rule = "2", time.Second, "raw/1"
	for range 2 { // a deploy, and its roll-back
		if err := older.Register(t.Context(), contract); err != nil {
			t.Fatal(err)
		}
		if err := newer.Register(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	theirs := func(key string) refrain.Call {
		c := call(key)
		c.Contract = next
		return c
	}
	a := mustRun(t, older, call("a"), put("a"))
	b := mustRun(t, newer, theirs("b"), put("b"))
	if again := mustRun(t, newer, theirs("a"), put("twice")); again.Ref != a.Ref {
		t.Errorf("the newer one replays %+v", again)
	}
	if again := mustRun(t, older, call("b"), put("twice")); again.Ref != b.Ref {
		t.Errorf("the older one replays %+v", again)
	}
	wantItems(t, older, "a", "b")
}
