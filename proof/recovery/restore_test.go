//go:build linux

package recovery

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/proof/processes"
	"github.com/refrain-dev/refrain/upkeep"
)

// TestRestore: a backup, more orders, the backup again, and every request once more:
// with a fence that a person set, and with a witness alone. What was lost is not
// done again, and is what the review lists; rebuilt, it is told where it is.
func TestRestore(t *testing.T) {
	for engine, open := range places {
		for _, witnessed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s witness=%t", engine, witnessed), func(t *testing.T) {
				s := &shop{t: t, place: open(t), client: processes.NewClient(8)}
				defer s.client.Close()
				if witnessed {
					s.witness = filepath.Join(t.TempDir(), "witness")
					s.args = []string{"--witness", s.witness}
				}
				s.recover(processes.Size(20, 60, 1000), witnessed)
			})
		}
	}
}

// shop is a demo on a database of its own.
type shop struct {
	t       *testing.T
	place   place
	args    []string
	witness string // file, "" without one
	demo    *processes.Demo
	client  *processes.Client
}

// made is an order and its answer.
type made struct {
	order  processes.Order
	answer processes.Answer
}

func (s *shop) recover(lost int, witnessed bool) {
	t := s.t
	s.demo = processes.Start(t, s.place.url, s.args...)
	kept := s.orders(30, time.Now())
	early := s.key(time.Now().Add(-time.Second)) // born before the backup, sent after it
	s.place.backup(t)
	gone := s.orders(lost-6, time.Now())
	gone = append(gone, s.order(processes.Order{Key: early, SKU: "EARLY", Quantity: 1}))
	for n := range 5 {
		gone = append(gone, s.order(processes.Order{Key: fmt.Sprint("untimed-", rand.Text()), SKU: "UNTIMED", Quantity: int64(n + 1)}))
	}
	if witnessed {
		s.saved()
	}
	last := time.Now()
	s.count(len(kept) + len(gone))
	s.demo.Stop(t)

	s.place.restore(t)
	if !witnessed {
		s.command("fence", "set", "--scope", "all", "--until", last.UTC().Format(time.RFC3339Nano), "--reason", "restored", "--by", "ann")
	}
	s.demo = processes.Start(t, s.place.url, s.args...)
	if fences := s.list("fence", "list"); len(fences) != 1 {
		t.Fatalf("fences: %v", fences)
	}
	s.replays(kept)
	for range 2 { // the review has one row for each, however often it comes
		for _, m := range gone {
			s.wants(m.order, 412, "retry-too-late")
		}
	}
	s.wants(processes.Order{Key: s.key(time.Now().Add(3 * time.Second)), SKU: "NEW", Quantity: 1}, 503, "recovering")
	s.count(len(kept))
	if reviews := s.reviews(); len(reviews) != len(gone) {
		t.Errorf("under review: %d, lost: %d", len(reviews), len(gone))
	}

	s.rebuild(gone, kept)
	s.replays(kept)
	for _, m := range gone {
		again := s.wants(m.order, 410, "result-gone")
		if !strings.Contains(again.Body, m.answer.Header.Get("Location")) {
			t.Errorf("%s does not tell %s", again.Body, m.answer.Header.Get("Location"))
		}
	}
	if reviews := s.reviews(); len(reviews) != 0 {
		t.Errorf("still under review: %d", len(reviews))
	}
	s.command("fence", "end", "1", "--reason", "looked through", "--by", "ann")
	s.order(processes.Order{Key: "untimed-" + rand.Text(), SKU: "AFTER", Quantity: 1})
	s.wants(processes.Order{Key: s.key(last.Add(-time.Second)), SKU: "LATE", Quantity: 1}, 412, "retry-too-late")
	s.count(len(kept) + 1)
	s.demo.Stop(t)
	s.command("verify")
}

// saved waits until the witness has seen the store once more: one that lost less than
// the interval between two of its saves cannot be told from one that lost nothing.
func (s *shop) saved() {
	s.t.Helper()
	counter := func() int64 {
		var i upkeep.Incarnation
		text, err := os.ReadFile(s.witness)
		if err == nil {
			err = json.Unmarshal(text, &i)
		}
		if err != nil {
			s.t.Fatal(err)
		}
		return i.Counter
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for before, until := counter(), time.Now().Add(time.Minute); counter() == before; <-tick.C {
		if time.Now().After(until) {
			s.t.Fatal("the witness does not save")
		}
	}
}

// orders places n orders with keys born from the given time on.
func (s *shop) orders(n int, born time.Time) (all []made) {
	for i := range n {
		all = append(all, s.order(processes.Order{Key: s.key(born), SKU: "TEA", Quantity: int64(i + 1)}))
	}
	return all
}

func (s *shop) order(o processes.Order) made {
	s.t.Helper()
	a := s.post(o)
	if a.Kind() != processes.Success || a.Replayed() {
		s.t.Fatalf("an order: %v", a)
	}
	return made{o, a}
}

func (s *shop) wants(o processes.Order, status int, problem string) processes.Answer {
	s.t.Helper()
	a := s.post(o)
	if a.Status != status || a.Header.Get("Idempotency-Status") != problem {
		s.t.Errorf("%s: %v, want %d %s", o.SKU, a, status, problem)
	}
	return a
}

func (s *shop) post(o processes.Order) processes.Answer {
	s.t.Helper()
	a, err := s.client.Post(s.t.Context(), s.demo.URL, o)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *shop) count(want int) {
	s.t.Helper()
	if n, err := s.client.Count(s.t.Context(), s.demo.URL); err != nil || n != want {
		s.t.Fatalf("%d orders, %v; want %d", n, err, want)
	}
}

// key is a UUIDv7 born at that time.
func (s *shop) key(born time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(born.UnixMilli())<<16)
	_, _ = rand.Read(b[6:])
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// replays demands that what the backup has is answered as ever.
func (s *shop) replays(kept []made) {
	s.t.Helper()
	for _, m := range kept {
		again := s.post(m.order)
		if differs := again.Differs(m.answer); differs != "" || !again.Replayed() {
			s.t.Errorf("kept: %s, replayed %t", differs, again.Replayed())
		}
	}
}

// rebuild makes tombstones of what the clients know was done, and has no record.
func (s *shop) rebuild(gone, kept []made) {
	s.t.Helper()
	var rows bytes.Buffer
	encode := json.NewEncoder(&rows)
	for _, m := range slices.Concat(gone, kept) {
		if err := encode.Encode(map[string]any{
			"scope": "tenant=north", "operation": "orders.create", "key": m.order.Key, "effect": m.answer.Header.Get("Location"), "at": time.Now(),
		}); err != nil {
			s.t.Fatal(err)
		}
	}
	path := filepath.Join(s.t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(path, rows.Bytes(), 0o600); err != nil {
		s.t.Fatal(err)
	}
	out := s.command("rebuild", "--rows", path, "--reason", "the clients know", "--by", "ann", "--json")
	var done upkeep.Rebuilt
	want := upkeep.Rebuilt{Looked: len(gone) + len(kept), Made: len(gone), Known: len(kept)}
	if err := json.Unmarshal([]byte(out), &done); err != nil || done != want {
		s.t.Errorf("rebuilt: %s, %v", out, err)
	}
}

// reviews pages through what is under review.
func (s *shop) reviews() (all []map[string]any) {
	s.t.Helper()
	after := ""
	for {
		page := s.list("review", "list", "--limit", "50", "--after", after)
		all = append(all, page...)
		if len(page) < 50 {
			return all
		}
		after = page[len(page)-1]["id"].(string)
	}
}

func (s *shop) list(args ...string) (found []map[string]any) {
	s.t.Helper()
	out := s.command(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		s.t.Fatalf("%v in %s", err, out)
	}
	return found
}

func (s *shop) command(args ...string) string {
	s.t.Helper()
	db := s.place.url
	if !strings.Contains(db, "://") {
		db = "sqlite:" + db
	}
	out, err := processes.Command(s.t.Context(), processes.Program(s.t), append(args, "--db", db)...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}
