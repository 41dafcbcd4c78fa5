package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/shop"
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
func (m *Main) diagnose(err error, help string) *failure {
	var f *failure
	var unfit *engine.Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &unfit) && unfit.Usage:
		return &failure{exitUsage, err, unfit.Hint}
	case unfit != nil:
		return &failure{exitDatabase, err, unfit.Hint}
	case errors.Is(err, refrain.ErrNewerSchema):
		return &failure{exitDatabase, err, newerHint}
	case errors.Is(err, refrain.ErrNotMigrated):
		return &failure{exitDatabase, err, migrateHint(m.at)}
	case !m.started:
		return &failure{exitUsage, err, help}
	}
	hint := engine.Helps(err)
	if hint == "" {
		hint = "check the database, its directory or server and its permissions; then: refrain doctor --db " + dbWord(m.at)
	}
	return &failure{exitDatabase, err, hint}
}

func (f *failure) print(w io.Writer) {
	said := strings.TrimPrefix(f.err.Error(), "refrain: ") // the library's errors begin with it, too
	fmt.Fprintf(w, "refrain: %s\nhint: %s\n", discreet(oneLine(said)), f.hint)
}

// passwords are those of URLs, whoever repeated them.
var passwords = regexp.MustCompile(`(\w+://[^\s:/@"]*):[^\s"]*@`)

func discreet(s string) string { return passwords.ReplaceAllString(s, "$1:…@") }

// dbWord is a place as a word of a POSIX shell; of none, what stands for it.
func dbWord(at engine.Place) string {
	if at == nil {
		return "URL"
	}
	return shop.Word(at.String())
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
