package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// The runner is only worth its verdicts if it gives each of them when due.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	mutants, err := load("testdata/tiny.txt", "")
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		verdict verdict
		detail  string
	}{
		"killed":         {killed, "TestWithin"},
		"survived":       {survived, "noticed"},
		"does-not-build": {broken, "tiny.go:9:13: undefined: nothing"},
		"hangs":          {broken, "hung past 3s"},
		"text-gone":      {broken, "occurs 0 times"},
		"text-twice":     {broken, "occurs 2 times"},
		"tests-nothing":  {broken, "no test matches"},
	}
	results := runner{root, 3 * time.Second}.all(t.Context(), mutants, 2)
	if len(results) != len(want) {
		t.Fatalf("%d results, want %d", len(results), len(want))
	}
	for _, r := range results {
		w := want[r.Mutant.ID]
		if r.Verdict != w.verdict || !strings.Contains(r.Detail, w.detail) {
			t.Errorf("%s: %s (%s), want %s (%s)", r.Mutant.ID, r.Verdict, r.Detail, w.verdict, w.detail)
		}
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	with := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), append([]string{"-root", root, "-file", "testdata/tiny.txt"}, args...), &out)
		return out.String(), err
	}
	if out, err := with("-only", "killed"); err != nil || !strings.Contains(out, "1 mutants: 1 killed, 0 survived, 0 errors") {
		t.Errorf("a killed mutant: %v\n%s", err, out)
	}
	if out, err := with("-only", "survived"); !errors.Is(err, errNotKilled) || !strings.Contains(out, "SURVIVED  survived") {
		t.Errorf("a survivor: %v\n%s", err, out)
	}
	if out, err := with("-only", "text-gone"); !errors.Is(err, errNotKilled) || !strings.Contains(out, "1 errors") {
		t.Errorf("a mutant that no longer applies: %v\n%s", err, out)
	}
	if _, err := with("-only", "nobody"); err == nil {
		t.Error("an unknown id was accepted")
	}
	if out, err := with("-list"); err != nil || strings.Count(out, "\n") != 7 {
		t.Errorf("-list: %v\n%s", err, out)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parse(strings.NewReader("# why\nmutant a\nfile x/y.go\ntest ./x ./z -run ^TestA$\n- \tif a {\n- \t\tb\n+ if c {\n\n\nmutant b\nfile y\ntest . -run B\n- gone"))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 {
		t.Fatalf("%d mutants, want 2", len(got))
	}
	if m := got[0]; m.ID != "a" || m.File != "x/y.go" || strings.Join(m.Packages, " ") != "./x ./z" || m.Run != "^TestA$" ||
		m.Old != "\tif a {\n\t\tb" || m.New != "if c {" {
		t.Errorf("first mutant: %+v", m)
	}
	if m := got[1]; m.Old != "gone" || m.New != "" {
		t.Errorf("second mutant: %+v", m)
	}
	for name, text := range map[string]string{
		"no id":          "file x\ntest . -run A\n- a",
		"no file":        "mutant a\ntest . -run A\n- a",
		"no test":        "mutant a\nfile x\n- a",
		"no pattern":     "mutant a\nfile x\ntest .\n- a",
		"no old text":    "mutant a\nfile x\ntest . -run A\n+ a",
		"no change":      "mutant a\nfile x\ntest . -run A\n- a\n+ a",
		"same id":        "mutant a\nfile x\ntest . -run A\n- a\n\nmutant a\nfile x\ntest . -run A\n- a",
		"unknown line":   "mutant a\nfile x\ntest . -run A\n- a\nwhat",
		"glued sign":     "mutant a\nfile x\ntest . -run A\n-a",
		"orphaned block": "- a\n\nmutant a\nfile x\ntest . -run A\n- a",
	} {
		if _, err := parse(strings.NewReader(text)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	var all []mutant
	for i := range 50 {
		all = append(all, mutant{ID: fmt.Sprint("m", i)})
	}
	monday, tuesday := draw(all, 10, "monday"), draw(all, 10, "tuesday")
	ids := func(mutants []mutant) (ids []string) {
		for _, m := range mutants {
			ids = append(ids, m.ID)
		}
		return ids
	}
	if len(monday) != 10 || len(tuesday) != 10 {
		t.Fatalf("drew %d and %d, want 10", len(monday), len(tuesday))
	}
	if slices.Equal(ids(monday), ids(tuesday)) {
		t.Error("two seeds drew the same")
	}
	if !slices.Equal(ids(monday), ids(draw(all, 10, "monday"))) {
		t.Error("one seed drew two samples")
	}
	if len(all) != 50 || all[7].ID != "m7" {
		t.Error("drawing changed what it drew from")
	}
}
