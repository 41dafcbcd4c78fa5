package shop

import (
	"context"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/record"
)

// TestPageListsWhatWaitsForAPerson: with its age and the command that decides.
func TestPageListsWhatWaitsForAPerson(t *testing.T) {
	t.Parallel()
	config := usual
	config.Database = "sqlite:the shop's.db"
	s := openShop(t, newFile(t), config)
	if text := s.page(t); !strings.Contains(text, "Nobody.") || strings.Contains(text, "ops resolve") {
		t.Error("the page lists something that waits")
	}
	const made, none = `{"text":"A","fail":"after"}`, `{"text":"B","fail":"before"}`
	s.asksQuote(t, north, "made", made)
	s.asksQuote(t, south, "none", none)
	happened := wantProblemRef(t, s.asksQuote(t, north, "made", made), "outcome-unknown")
	perhaps := wantProblemRef(t, s.asksQuote(t, south, "none", none), "outcome-unknown")
	id := s.listedQuotes(t, north).Quotes[0].ID
	text := s.page(t)
	for _, want := range []string{
		`<span class="state unknown">unknown</span> <code>` + happened + `</code> quotes.create, tenant=north, 0s old: quote ` + id + ` carries this reference`,
		`refrain ops resolve ` + happened + ` --db &#39;sqlite:the shop&#39;\&#39;&#39;s.db&#39; --as confirmed --status 201 --effect /v1/quotes/` + id,
		`refrain ops resolve ` + perhaps + ` --db &#39;sqlite:the shop&#39;\&#39;&#39;s.db&#39; --as rejected --status 409`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s\n%s", want, text)
		}
	}
	s.resolve(t, happened, http.StatusCreated)
	if text := s.page(t); strings.Contains(text, "resolve "+happened) || !strings.Contains(text, "resolve "+perhaps) {
		t.Error("the page lists what is decided, or not what is open")
	}
}

// TestDisputedWaits: two answers that contradict each other wait, too.
func TestDisputedWaits(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx := context.Background()
	ref := s.asksQuote(t, north, "q", `{"text":"A"}`).Header().Get("Idempotency-Ref")
	rec, err := s.db.Find(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	next := rec
	next.Disputed = true
	next.Evidence = []record.Result{{Status: http.StatusConflict, Rejected: true}}
	if _, err := s.db.Swap(ctx, rec, next); err != nil {
		t.Fatal(err)
	}
	if all, err := s.waits(ctx); err != nil || len(all) != 1 || all[0].Ref != ref || all[0].State != "disputed" {
		t.Errorf("waiting %+v, %v", all, err)
	}
}

// TestQuotedIsOneWord asks the shell itself.
func TestQuotedIsOneWord(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"sqlite:/x/a.db", "", "a b", "it's", `$HOME "x" \`, "`id`", "a;b&c*", "ü"} {
		out, err := exec.Command("sh", "-c", "printf '[%s]' "+Word(word)).Output()
		if err != nil || string(out) != "["+word+"]" {
			t.Errorf("%q is read as %s, %v", word, out, err)
		}
	}
}
