package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestUnsigned: a name or a reason that says nothing, or does not fit, is the command
// line's fault.
func TestUnsigned(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	id := strings.Repeat("0", 32)
	for _, words := range []string{"", " ", "\t", strings.Repeat("x", 1001)} {
		for _, args := range [][]string{
			{"fence", "set", "--scope", "all", "--until", "now"},
			{"fence", "end", "1"},
			{"fence", "void", "1"},
			{"review", "allow", id},
			{"review", "done", id, "--effect", "/orders/1"},
			{"rebuild", "--rows", os.DevNull},
			{"once", "remove", "--rule", "bonus", "--value", "a"},
		} {
			p.says(exitUsage, "hint: add --reason TEXT and --by NAME", append(args, "--by", "ann", "--reason", words)...)
			p.says(exitUsage, "hint: add --reason TEXT and --by NAME", append(args, "--by", words, "--reason", "seen")...)
		}
	}
}

// TestZeroTime: it is no time that anybody means, and to a reaper it means now.
func TestZeroTime(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.orders(3)
	file := filepath.Join(t.TempDir(), "a")
	for _, zero := range []string{"0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00"} {
		p.says(exitUsage, "hint: give a time", "archive", "--to", file, "--before", zero)
		p.says(exitUsage, "hint: give a time", "fence", "set", "--scope", "all", "--until", zero, "--reason", "seen", "--by", "ann")
		p.says(exitUsage, "hint: give a time", "fence", "set", "--scope", "all", "--until", "now", "--since", zero, "--reason", "seen", "--by", "ann")
	}
	p.says(exitOK, "3 records", "verify")
	p.says(exitOK, "archived and forgot 0 records", "archive", "--to", file, "--before", "0001-01-02T00:00:00Z")
}

// TestReviewAfter: a list behind what is no id is not an empty one.
func TestReviewAfter(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	for _, after := range []string{"zz", "00", strings.Repeat("0", 33), strings.Repeat("A", 32), "1"} {
		p.says(exitUsage, "is not the id of a review", "review", "list", "--after", after)
	}
	p.says(exitOK, "", "review", "list", "--after", strings.Repeat("0", 32))
}

// TestRebuildRefusesRows: a row that would make a tombstone nobody finds, or one that
// says less than was meant, makes none.
func TestRebuildRefusesRows(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.contract.RememberFor = 24 * time.Hour
	if err := p.db.Register(t.Context(), p.contract); err != nil {
		t.Fatal(err)
	}
	rows := filepath.Join(t.TempDir(), "rows")
	now := time.Now().UTC()
	row := func(scope, effect string, at time.Time) string {
		return fmt.Sprintf(`{"scope":%q,"operation":"orders.create","key":"secret","%s":"/orders/7","at":%q}`, scope, effect, at.Format(time.RFC3339))
	}
	rebuild := []string{"rebuild", "--rows", rows, "--reason", "seen", "--by", "ann"}
	for _, c := range []struct{ row, says string }{
		{row("tenant=north", "efect", now), "it is not the JSON of a row: scope, operation, key, effect and at"},
		{row("tenant=north", "effect", now) + " x", "it is not the JSON of a row"},
		{row("tenant=north", "effect", now) + row("tenant=south", "effect", now), "it is not the JSON of a row"},
		{row("north", "effect", now), `"north" is no scope of tenant[,subject], such as tenant=north`},
		{row("tenant=north", "effect", now.Add(time.Hour)), "is later than now"},
	} {
		if err := os.WriteFile(rows, []byte(c.row+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if said := p.run(exitUsage, rebuild...); !strings.Contains(said, "0 tombstones were made: row 1: ") || !strings.Contains(said, c.says) || strings.Contains(said, "secret") {
			t.Errorf("%s: %s", c.row, said)
		}
	}
	if err := os.WriteFile(rows, []byte(row("tenant=north", "effect", now)+" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.says(exitOK, "rebuilt 1 of 1 rows", rebuild...)
	p.says(exitOK, "1 records", "verify")
}
