package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// verdict is what became of a mutant. Only killed is good.
type verdict string

const (
	killed   verdict = "killed"
	survived verdict = "SURVIVED"
	broken   verdict = "ERROR" // nothing was learned: it did not build, hung, or no longer applies
)

type result struct {
	Mutant  mutant
	Verdict verdict
	Detail  string // the test that noticed, or why nothing was learned
	Took    time.Duration
}

// runner tries mutants against the tree at Root without writing to it.
type runner struct {
	Root    string
	Timeout time.Duration // per mutant, building excluded
}

// try applies one mutant by overlay and runs its tests.
func (r runner) try(ctx context.Context, m mutant) result {
	start := time.Now()
	v, detail := r.judge(ctx, m)
	return result{m, v, detail, time.Since(start)}
}

func (r runner) judge(ctx context.Context, m mutant) (verdict, string) {
	text, err := m.apply(r.Root)
	if err != nil {
		return broken, err.Error()
	}
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return broken, err.Error()
	}
	defer os.RemoveAll(dir)
	overlay, err := writeOverlay(dir, filepath.Join(r.Root, filepath.FromSlash(m.File)), text)
	if err != nil {
		return broken, err.Error()
	}
	// Three tries, the first failure ends them: a race is not noticed every time.
	report, err := r.goTest(ctx, m, "-count=3", "-failfast", "-overlay", overlay)
	switch {
	case err != nil:
		return broken, err.Error()
	case report.notBuilt:
		return broken, "does not build: " + report.firstLine
	case report.timedOut:
		return broken, fmt.Sprintf("tests hung past %s: they must fail, not hang", r.Timeout)
	case report.green:
		return survived, "no test of " + m.Run + " noticed"
	case report.failed == "":
		return broken, "red without a failed test: " + report.firstLine
	}
	return killed, report.failed
}

// baseline checks that a mutant's tests exist and are green on the unbroken tree:
// otherwise a red run would prove nothing.
func (r runner) baseline(ctx context.Context, m mutant) error {
	report, err := r.goTest(ctx, m)
	switch {
	case err != nil:
		return err
	case !report.green:
		return fmt.Errorf("red without any mutant: %s%s", report.failed, report.firstLine)
	case report.passed == 0:
		return fmt.Errorf("no test matches %s", m.Run)
	}
	return nil
}

// report is what one go test run said.
type report struct {
	green, notBuilt, timedOut bool
	passed                    int
	failed                    string // the first test that failed
	firstLine                 string // of the build's output, or of the failed package's
}

func (r runner) goTest(ctx context.Context, m mutant, flags ...string) (report, error) {
	args := append([]string{"test", "-json", "-vet=off", "-timeout", r.Timeout.String(), "-run", m.Run}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, m.Packages...)...)
	cmd.Dir = r.Root
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return report{}, err
	}
	if ctx.Err() != nil {
		return report{}, ctx.Err()
	}
	rep, parseErr := readEvents(&out)
	if parseErr != nil {
		return rep, fmt.Errorf("go test: %w: %s", parseErr, bytes.TrimSpace(stderr.Bytes()))
	}
	rep.green = err == nil
	return rep, nil
}

// readEvents digests the stream of go test -json.
func readEvents(out *bytes.Buffer) (report, error) {
	var rep report
	decoder := json.NewDecoder(out)
	for decoder.More() {
		var event struct{ Action, Test, Output, FailedBuild string }
		if err := decoder.Decode(&event); err != nil {
			return rep, err
		}
		line := strings.TrimSpace(event.Output)
		switch {
		case event.Action == "build-output" && rep.firstLine == "" && !strings.HasPrefix(line, "#"):
			rep.firstLine = line
		case event.Action == "build-fail", event.FailedBuild != "":
			rep.notBuilt = true
		case event.Action == "output" && strings.HasPrefix(line, "panic: test timed out after"):
			rep.timedOut = true
		case event.Action == "output" && event.Test == "" && rep.firstLine == "":
			rep.firstLine = line
		case event.Action == "pass" && event.Test != "":
			rep.passed++
		case event.Action == "fail" && event.Test != "" && rep.failed == "":
			rep.failed = event.Test
		}
	}
	return rep, nil
}

// writeOverlay stores the text in dir and a JSON file there that puts it in file's place.
func writeOverlay(dir, file, text string) (string, error) {
	mutated := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(mutated, []byte(text), 0o644); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: mutated}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, overlay, 0o644)
}
