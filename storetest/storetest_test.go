package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// TestCases: every report has its row, and every property it names exists.
func TestCases(t *testing.T) {
	text, err := os.ReadFile("cases.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range properties[int]() {
		if slices.Contains(names, p.name) {
			t.Errorf("property %s is registered twice", p.name)
		}
		names = append(names, p.name)
	}
	for _, p := range keeperProperties[int]() {
		if slices.Contains(names, p.name) {
			t.Errorf("property %s is registered twice", p.name)
		}
		names = append(names, p.name)
	}
	next := 1
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| B") || len(cells) != 5 {
			continue
		}
		if want := fmt.Sprintf("B%02d", next); strings.TrimSpace(cells[1]) != want {
			t.Errorf("row %q, want %s", line, want)
		}
		next++
		tests := regexp.MustCompile(`\bTest\w+`).ReplaceAllString(cells[3], "")
		for _, word := range regexp.MustCompile(`\b[A-Z][a-z]+[A-Z]\w*|\bSeeds\b`).FindAllString(tests, -1) {
			if !slices.Contains(names, word) {
				t.Errorf("%s names %s, which is no property", strings.TrimSpace(cells[1]), word)
			}
		}
	}
	if next != 37 {
		t.Errorf("%d rows, want 36", next-1)
	}
}

func TestMissing(t *testing.T) {
	all := (&Harness[int]{}).missing(Features{})
	if len(all) != 16 {
		t.Errorf("an empty harness lacks %v", all)
	}
	excused := Features{NoReopen: true, NoExecuteIn: true, NoStanding: true, NoAudits: true, NoDamage: true, NoPoison: true, NoOnce: true}
	if got, want := (&Harness[int]{}).missing(excused), all[:6]; !slices.Equal(got, want) {
		t.Errorf("with all excuses it lacks %v, want %v", got, want)
	}
}

func TestLeaked(t *testing.T) {
	before := goroutines()
	if leaked := before.leaked(); len(leaked) != 0 {
		t.Fatalf("leaked at once: %v", leaked)
	}
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan struct{})
	go func() {
		close(running)
		<-ctx.Done()
	}()
	<-running
	found := false
	for id, stack := range goroutines() {
		_, old := before[id]
		found = found || !old && !tests(stack) && strings.Contains(stack, "TestLeaked")
	}
	if !found {
		t.Error("a goroutine that runs is not seen")
	}
	cancel()
	if leaked := before.leaked(); len(leaked) != 0 {
		t.Errorf("a goroutine that ends is taken for a leak: %v", leaked)
	}
}

func TestHostile(t *testing.T) {
	keys := hostile()
	slices.Sort(keys)
	if unique := len(slices.Compact(keys)); unique < 300 || unique != len(hostile()) {
		t.Errorf("%d distinct keys of %d", unique, len(hostile()))
	}
}

func TestKeysBearTheirBirth(t *testing.T) {
	for n, at := range []time.Time{epoch, epoch.Add(time.Millisecond), epoch.AddDate(-40, 0, 1)} {
		if born, ok := record.ByShape.Birth(timed(at, n)); !ok || !born.Equal(at) {
			t.Errorf("timed(%v) = %s, born %v, %t", at, timed(at, n), born, ok)
		}
		if born, ok := record.ULID.Birth(ulid(at)); !ok || !born.Equal(at) {
			t.Errorf("ulid(%v) = %s, born %v, %t", at, ulid(at), born, ok)
		}
	}
	if timed(epoch, 1) == timed(epoch, 2) || timed(epoch, 1) == timed(epoch, 4097) {
		t.Error("timed keys of one birth are the same")
	}
}

// TestVerifyNotices: each invariant is broken once on a store of lies.
func TestVerifyNotices(t *testing.T) {
	id := record.Identity{Scope: "tenant=a", Operation: "o", Key: "k"}
	ref, other := record.NewRef(epoch), record.NewRef(epoch)
	good := record.Record{Identity: id, Ref: ref, State: record.Submitted}
	good.Settle(record.Result{Body: []byte("x")}, epoch, record.Policy{ReplayFor: 1e9, RememberFor: 1e9})
	row := func(ref string) string { return "hash/" + ref + "/1" }
	for name, tt := range map[string]struct {
		change    func(*record.Record)
		rows      []string
		committed map[string][]byte
		want      string
	}{
		"sound":            {nil, []string{row(ref)}, map[string][]byte{ref: []byte("x")}, ""},
		"two effects":      {nil, []string{row(ref), row(ref)}, nil, "had 2 effects in 1 memories"},
		"no record":        {nil, []string{row(other)}, nil, "have no record"},
		"half-done":        {func(r *record.Record) { r.State = record.Submitted }, nil, nil, "is left submitted"},
		"no deadline":      {func(r *record.Record) { r.Final = time.Time{} }, nil, nil, "replay until"},
		"deadline order":   {func(r *record.Record) { r.RememberUntil = epoch }, nil, nil, "replay until"},
		"false rejection":  {func(r *record.Record) { r.State = record.Rejected }, nil, nil, "its result rejected"},
		"rejected effect":  {func(r *record.Record) { r.State, r.Result.Rejected = record.Rejected, true }, []string{row(ref)}, map[string][]byte{ref: []byte("x")}, "has an effect"},
		"other body":       {nil, nil, map[string][]byte{ref: []byte("y")}, "the caller got"},
		"told and lost":    {nil, nil, map[string][]byte{other: []byte("x")}, "which a caller was told"},
		"effect went away": {func(r *record.Record) { r.Result.Body = []byte(row(ref)) }, nil, map[string][]byte{ref: []byte(row(ref))}, "confirmed without its effect"},
	} {
		rec := good
		if tt.change != nil {
			tt.change(&rec)
		}
		said := &sayings{}
		f := &fixture[int]{t: said, Harness: &Harness[int]{
			Store:   lies{rec},
			Effects: func(context.Context) ([]string, error) { return tt.rows, nil },
		}, committed: tt.committed}
		f.verify()
		if got := strings.Join(said.lines, "\n"); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: verify says %q, want %q", name, got, tt.want)
		}
	}
}

// lies is a store of one record.
type lies struct{ rec record.Record }

func (l lies) Load(context.Context, record.Identity) (record.Seen, time.Time, error) {
	return record.Seen{Record: &l.rec}, epoch, nil
}
func (l lies) Find(_ context.Context, ref string) (record.Record, error) {
	if ref != l.rec.Ref {
		return record.Record{}, record.ErrNotFound
	}
	return l.rec, nil
}
func (l lies) Swap(context.Context, record.Record, record.Record) (record.Record, error) {
	return record.Record{}, record.ErrSwapped
}
func (l lies) List(context.Context, record.Record, int) ([]record.Record, error) {
	return []record.Record{l.rec}, nil
}
func (lies) Change(context.Context, record.Identity, func(record.Seen, time.Time) (record.Edit, error)) error {
	return errors.ErrUnsupported
}

// sayings collects what a fixture would report.
type sayings struct {
	testing.TB
	lines []string
}

func (s *sayings) Helper() {}
func (s *sayings) Errorf(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}
