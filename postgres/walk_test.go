package postgres

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// A page ends by its number or by its bytes, and what cannot be read is named and
// passed.
func TestWalk(t *testing.T) {
	for _, driver := range []string{"pgx", "postgres", "native"} {
		t.Run(driver, func(t *testing.T) {
			now := noon
			k := newKeeper(t, driver, at(&now))
			var all []*record.Record
			for i := range 7 {
				now = now.Add(time.Second)
				claim := claimOf(t, keeperCall(fmt.Sprint(i)))
				rec := claim.Begin(now)
				result := record.Result{Body: []byte{byte(i)}, Header: [][2]string{{"N", fmt.Sprint(i)}}}
				if i == 3 || i == 4 {
					result.Body = make([]byte, walkPage+i)
				}
				rec.Settle(result, now, claim.Policy)
				stored, err := k.Swap(t.Context(), record.Record{}, *rec)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, &stored)
			}
			k.setup(t, `UPDATE {schema}.record SET state = 99 WHERE ref = $1`, packRef(all[1].Ref))
			k.setup(t, `UPDATE {schema}.record SET key = 'moved' WHERE ref = $1`, packRef(all[2].Ref))
			k.setup(t, `UPDATE {schema}.record SET format = 99 WHERE ref = $1`, packRef(all[6].Ref))
			after := ""
			for i, page := range [][]int{{0, 1, 2, 3}, {4}, {5, 6}, {}} {
				w, err := k.Walk(t.Context(), after, 4)
				if err != nil || len(w.Records)+len(w.Unreadable) != len(page) || (w.Next == "") != (i > 1) {
					t.Fatalf("page %d: %d records, %v, next %q, %v", i, len(w.Records), w.Unreadable, w.Next, err)
				}
				for _, n := range page {
					if why := w.Unreadable[all[n].Ref]; n == 1 || n == 2 || n == 6 {
						if !errors.Is(why, record.RecordUnreadable) || errors.Is(why, record.ErrNewerFormat) != (n == 6) {
							t.Errorf("record %d: %v", n, why)
						}
						continue
					}
					same(t, fmt.Sprint("record ", n), w.Records[0], *all[n])
					w.Records = w.Records[1:]
				}
				if len(page) > 0 {
					after = all[page[len(page)-1]].Ref
				}
				if w.Next != "" {
					same(t, "next", w.Next, after)
				}
			}
			if w, err := k.Walk(t.Context(), "", 7); err != nil || w.Next != all[3].Ref {
				t.Errorf("a page that ends early: next %q, %v", w.Next, err)
			}
			if _, err := k.Walk(t.Context(), "no ref", 1); !errors.Is(err, errRef) {
				t.Errorf("behind no ref: %v", err)
			}
		})
	}
}
