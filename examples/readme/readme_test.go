package readme

import (
	"os"
	"strings"
	"testing"
)

// TestReadme keeps the README's code the same as the code that compiles here.
func TestReadme(t *testing.T) {
	var source []byte
	for _, file := range []string{"readme.go", "../orders/endpoint_test.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
	}
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := plain(string(page))
	regions := 0
	for _, part := range strings.Split(string(source), "// readme: ")[1:] {
		name, code, _ := strings.Cut(part, "\n")
		if name == "end" {
			continue
		}
		regions++
		if !strings.Contains(shown, plain(code)) {
			t.Errorf("README.md does not show region %q as it stands in readme.go", name)
		}
	}
	if regions != 3 {
		t.Errorf("%d regions, want 3", regions)
	}
}

// plain drops what differs between a page and a function body: indentation,
// error plumbing and the call the comment stands for.
func plain(s string) string {
	var lines []string
	skip := 0
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		switch {
		case line == "if err != nil {":
			skip = 2
		case skip > 0:
			skip--
		case line != "" && !strings.HasPrefix(line, "return placeOrder"):
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
