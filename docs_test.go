package refrain_test

import (
	"os"
	"path"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestContractFieldsAreDocumented: whoever adds a field says how to choose it.
func TestContractFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/choosing-a-contract.md")
	contract := reflect.TypeFor[refrain.Contract]()
	for i := range contract.NumField() {
		name := contract.Field(i).Name
		if !strings.Contains(text, "**"+name+"**") && !strings.Contains(text, "`"+name+"`") {
			t.Errorf("Contract.%s is not documented", name)
		}
	}
	for _, name := range []string{"`ByShape`", "`ULID`", "`None`", "`Required`"} {
		if !strings.Contains(text, "| "+name) {
			t.Errorf("the key time %s is not documented", name)
		}
	}
}

func TestStatesAreDocumented(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/concepts.md")
	for state := record.Accepted; state <= record.Rejected; state++ {
		row := regexp.MustCompile("(?m)^\\| `" + state.String() + "` \\|.*\\|(.*)\\|$").FindStringSubmatch(text)
		if row == nil {
			t.Errorf("the state %s is not documented", state)
			continue
		}
		if final := strings.TrimSpace(row[1]) == "yes"; final != state.Final() {
			t.Errorf("%s is documented as final: %t", state, final)
		}
	}
}

func TestProblemTitlesPromiseNoRollbackInDoubt(t *testing.T) {
	t.Parallel()
	for _, p := range []record.Problem{refrain.ErrOutcomeUnknown, refrain.ErrOutcomeDisputed, refrain.ErrCommitUnknown} {
		if title := p.Title(); strings.Contains(title, "rolled back") || strings.Contains(title, "nothing") {
			t.Errorf("%s claims to know: %q", string(p), title)
		}
	}
}

// TestPagesLinkToPages follows the relative links of the guides.
func TestPagesLinkToPages(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	found := 0
	for _, name := range []string{"docs/concepts.md", "docs/decision-table.md", "docs/guarantee.md", "docs/choosing-a-contract.md"} {
		for _, match := range link.FindAllStringSubmatch(page(t, name), -1) {
			found++
			if _, err := os.Stat(path.Join(path.Dir(name), match[1])); err != nil {
				t.Errorf("%s links to %s, which is missing", name, match[1])
			}
		}
	}
	if found == 0 {
		t.Error("no link was found: the pattern is broken")
	}
}
