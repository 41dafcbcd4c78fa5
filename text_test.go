package refrain_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	// overclaim finds the promise nobody can keep, also across a line break or a comment leader.
	overclaim = regexp.MustCompile(`(?i)exactly[\s/*>-]+once`)
	// disowned is the one permitted use: quoted, on a line that says it is never used.
	disowned = regexp.MustCompile(`(?i)\bnever\b.*["“]exactly[ -]once["”]|["“]exactly[ -]once["”].*\bnever\b`)
	// unfinished finds notes that work was left out. Split, so that this file passes its own test.
	unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
)

// unfit returns what a text says that no text of ours may say.
func unfit(text string) []string {
	var found []string
	for _, at := range overclaim.FindAllStringIndex(text, -1) {
		start := strings.LastIndexByte(text[:at[0]], '\n') + 1
		end := len(text)
		if newline := strings.IndexByte(text[at[1]:], '\n'); newline >= 0 {
			end = at[1] + newline
		}
		if line := text[start:end]; !disowned.MatchString(line) {
			found = append(found, "overclaims: "+line)
		}
	}
	for _, word := range unfinished.FindAllString(text, -1) {
		found = append(found, "unfinished: "+word)
	}
	return found
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, file := range append(filesOf(t, ".go"), filesOf(t, ".md")...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range unfit(string(text)) {
			t.Errorf("%s %s", file, found)
		}
	}
}

func TestUnfit(t *testing.T) {
	t.Parallel()
	const claim = "exactly" + " " + "once"
	tests := []struct {
		text  string
		unfit bool
	}{
		{"commits at most once", false},
		{"delivered " + claim, true},
		{"Exactly-" + "once delivery", true},
		{"runs exactly\n// once", true},
		{`Never the words "` + claim + `".`, false},
		{`it is never ` + claim, true},
		{`we promise "` + claim + `"`, true},
		{"never here\nbut there: \"" + claim + `"`, true},
		{"// TO" + "DO: later", true},
		{"context.TO" + "DO()", true},
		{"a todo list", false},
	}
	for _, tt := range tests {
		if got := unfit(tt.text); (len(got) > 0) != tt.unfit {
			t.Errorf("unfit(%q) = %q, want unfit=%t", tt.text, got, tt.unfit)
		}
	}
}
