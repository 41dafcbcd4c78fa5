package mysql

import (
	"testing"

	"github.com/refrain-dev/refrain/record"
)

// A connection of ours prepares its blocks where the server has them; without, the
// same statements do the same as texts.
func TestBlocks(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{Connections: 1})
	with := func(of func(g *guard)) {
		t.Helper()
		conn, err := db.pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.Raw(func(dc any) error {
			of(dc.(*guard))
			return nil
		})
	}
	with(func(g *guard) {
		if g.blocks != mariaDB(t, s.raw) {
			t.Errorf("blocks are prepared: %v", g.blocks)
		}
	})
	mustBuy(t, db, order("block"))
	with(func(g *guard) { g.blocks = false })
	mustBuy(t, db, order("text"))
	for _, key := range []string{"block", "text"} {
		s.unlocked(t, order(key))
		if out, err := db.Execute(t.Context(), order(key), buys("again")); err != nil || !out.Replayed {
			t.Errorf("%s: %+v, %v", key, out, err)
		}
	}
	s.wants(t, "block", "text")
}

// What a statement prepared for replays finds is a record of that very identity,
// and one that is remembered.
func TestRecall(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{Connections: 1})
	mustBuy(t, db, order("k"))
	id := identityOf(t, order("k"))
	found, err := db.recall(t.Context(), id)
	if err != nil || found.Record == nil || found.Record.Identity != id || found.IdentityVersion == "" {
		t.Fatalf("%+v, %v", found, err)
	}
	body := string(found.Record.Result.Body)
	if _, err := db.recall(t.Context(), identityOf(t, order("none"))); err == nil {
		t.Error("a record nobody wrote")
	}
	must(t, s.raw, "UPDATE refrain_record SET body = REPEAT('z', LENGTH(body))")
	if _, err := db.recall(t.Context(), id); err != nil {
		t.Error(err)
	}
	if body == "" || string(found.Record.Result.Body) != body {
		t.Error("the body is the driver's buffer")
	}
	must(t, s.raw, "UPDATE refrain_record SET `key` = 'other'")
	if found, _ := db.recall(t.Context(), id); found.Record != nil {
		t.Errorf("another identity: %+v", found.Record)
	}
	must(t, s.raw, "UPDATE refrain_record SET `key` = 'k', remember_until = 1, replay_until = 1")
	var seen record.Seen
	if seen, _, err = db.load(t.Context(), id); err != nil || seen.Record == nil || seen.Record.RememberUntil.UnixMicro() != 1 {
		t.Errorf("the whole lookup: %+v, %v", seen, err)
	}
}
