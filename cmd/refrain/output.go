package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/refrain-dev/refrain"
)

// Output rules, the same for every command:
//
//   - stdout carries what was asked for and nothing else. With --json that is
//     one JSON document; demo prints its address on a line before it.
//   - stderr carries notices and errors. An error is one line that begins with
//     "refrain: ", and a second one, "hint: ", says what to do about it.
//   - No colours, no progress, no questions: output reads the same in a
//     terminal, a pipe and a log. A secret or a key never appears.
//   - The exit code says what kind of end it was, and nothing else does.
const (
	exitOK       = 0
	exitDiffers  = 1 // a check found a difference
	exitUsage    = 2 // the command line is wrong
	exitDatabase = 3 // the database or service cannot be used: missing, unreachable, unmigrated, newer
)

// failure is an error that knows how the command ends and what helps.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func differs(hint, format string, args ...any) error {
	return &failure{exitDiffers, fmt.Errorf(format, args...), hint}
}

func misused(hint, format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...), hint}
}

func unusable(hint, format string, args ...any) error {
	return &failure{exitDatabase, fmt.Errorf(format, args...), hint}
}

// diagnose gives an error without one its exit code and its hint. What fails
// before a command runs is the command line's fault, and help is what helps.
func diagnose(err error, started bool, help string) *failure {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, refrain.ErrNewerSchema):
		return &failure{exitDatabase, err, "use the refrain binary that migrated it, or a later one"}
	case errors.Is(err, refrain.ErrNotMigrated):
		return &failure{exitDatabase, err, "run: refrain migrate --db sqlite:PATH"}
	case !started:
		return &failure{exitUsage, err, help}
	}
	return &failure{exitDatabase, err, "check the file, its directory and its permissions; then: refrain doctor --db sqlite:PATH"}
}

func (f *failure) print(w io.Writer) {
	said := strings.TrimPrefix(f.err.Error(), "refrain: ") // the library's errors begin with it, too
	fmt.Fprintf(w, "refrain: %s\nhint: %s\n", oneLine(said), f.hint)
}

// oneLine keeps a text of several parts on its line, and away from the terminal:
// what a client or a handler named may hold control sequences.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// printJSON writes one indented document.
func printJSON(w io.Writer, doc any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(doc)
}
