package refrain_test

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/refrain-dev/refrain"

// anything marks a program: a package nobody imports, free to import whatever it needs.
var anything = []string{"*"}

// mayImport is the import table: what a package may import of ours, itself aside.
// A package not named here does not exist, so a new one is a decision made in this file.
var mayImport = map[string][]string{
	".":            {"record", "fingerprint"},
	"fingerprint":  {},
	"record":       {"fingerprint"},
	"vectors":      {},
	"conformance":  {"vectors"},
	"fakeprovider": {},
	"operation":    {"record"},
	"memstore":     {".", "record", "fingerprint", "operation", "upkeep"},
	"upkeep":       {".", "record", "fingerprint"},
	"sqlite":       {".", "record", "fingerprint", "upkeep", "operation"},
	"postgres":     {".", "record", "fingerprint", "upkeep", "operation"},
	"mysql":        {".", "record", "fingerprint", "upkeep", "operation"},
	"refrainhttp":  {".", "record", "fingerprint"},
	"external":     {".", "record", "operation"},
	"outbox":       {".", "record", "operation", "external"},
	"inbox":        {".", "record", "refrainhttp"},
	"gateway":      {".", "record", "refrainhttp"},
	"admin":        {".", "record", "refrainhttp"},
	"watermill":    {".", "record", "operation", "external", "outbox", "inbox"},
	"storetest":    {".", "record", "fingerprint", "upkeep", "operation"},
	"refraintest":  {".", "record", "refrainhttp"},
	"cmd/refrain":  anything,
	"examples":     anything,
	"proof":        anything,
}

// testsMayImport is what any test file may import beside its package's row.
var testsMayImport = []string{"storetest", "memstore", "vectors", "fakeprovider", "operation", "upkeep"}

// neverInProduction are the packages only test files and proofs may link.
var neverInProduction = []string{"storetest", "refraintest"}

// thirdParty names the libraries outside the standard one a module may use; a program may use any.
var thirdParty = map[string][]string{
	"sqlite":    {"github.com/ncruces/"},
	"postgres":  {"github.com/jackc/"},
	"mysql":     {"github.com/go-sql-driver/"},
	"watermill": {"github.com/ThreeDotsLabs/"},
}

// testTools are what the tests of modules with third-party libraries may use beyond them.
var testTools = []string{"go.uber.org/goleak", "github.com/lib/pq"}

// owner returns the row of mayImport a directory falls under, or "" for an unknown package.
// Below a library only internal directories count as part of it.
func owner(dir string) string {
	at := dir
	for mayImport[at] == nil {
		at = path.Dir(at)
	}
	below := strings.TrimPrefix(strings.TrimPrefix(dir, at), "/")
	if at == dir || slices.Equal(mayImport[at], anything) || strings.HasPrefix(below+"/", "internal/") {
		return at
	}
	return ""
}

// violation says what is wrong with one import of one file, or "".
func violation(dir string, test bool, imported string) string {
	from := owner(dir)
	if from == "" {
		return "unknown package: decide its row in arch_test.go"
	}
	rest, ours := strings.CutPrefix(imported+"/", modulePath+"/")
	if !ours {
		first, _, _ := strings.Cut(imported, "/")
		free := slices.Equal(mayImport[from], anything) || !strings.Contains(first, ".")
		allowed := func(prefix string) bool { return strings.HasPrefix(imported, prefix) }
		if free || slices.ContainsFunc(thirdParty[from], allowed) || test && thirdParty[from] != nil && slices.Contains(testTools, imported) {
			return ""
		}
		return "third-party import"
	}
	to := owner(path.Clean(rest))
	switch {
	case to == "":
		return "imports an unknown package"
	case to == from:
		return ""
	case test && slices.Contains(testsMayImport, to):
		return ""
	case !test && from != "proof" && slices.Contains(neverInProduction, to):
		return "production imports a test helper"
	case slices.Equal(mayImport[from], anything), slices.Contains(mayImport[from], to):
		return ""
	}
	return "not in the import table"
}

func TestImportTable(t *testing.T) {
	t.Parallel()
	for _, file := range filesOf(t, ".go") {
		if strings.Contains("/"+file, "/testdata/") {
			continue
		}
		dir, test := path.Dir(file), strings.HasSuffix(file, "_test.go")
		if owner(dir) == "" {
			t.Errorf("%s: unknown package %s: decide its row in arch_test.go", file, dir)
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(file), nil, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if wrong := violation(dir, test, imported); wrong != "" {
				t.Errorf("%s imports %s: %s", file, imported, wrong)
			}
		}
	}
}

func TestViolation(t *testing.T) {
	t.Parallel()
	tests := []struct {
		dir      string
		test     bool
		imported string
		wrong    bool
	}{
		{".", false, "net/http", false},
		{".", false, modulePath + "/record", false},
		{".", false, modulePath + "/refrainhttp", true},
		{".", false, "golang.org/x/sync/errgroup", true},
		{".", true, "github.com/google/go-cmp/cmp", true},
		{".", true, modulePath + "/memstore", false},
		{"record", false, modulePath, true},
		{"record", true, modulePath + "/vectors", false},
		{"fingerprint/internal/scan", false, "strconv", false},
		{"fingerprint/extra", false, "strconv", true},
		{"unheard", false, "strconv", true},
		{"internal/shared", false, "strconv", false},
		{"sqlite", false, "github.com/ncruces/go-sqlite3", false},
		{"sqlite", false, "github.com/lib/pq", true},
		{"sqlite", false, modulePath + "/postgres", true},
		{"sqlite", true, modulePath + "/storetest", false},
		{"sqlite", false, modulePath + "/storetest", true},
		{"refrainhttp", false, modulePath + "/external", true},
		{"external", false, modulePath + "/inbox", true},
		{"admin", false, modulePath + "/cmd/refrain", true},
		{"conformance", false, modulePath, true},
		{"conformance", false, modulePath + "/vectors", false},
		{"cmd/refrain", false, "github.com/spf13/cobra", false},
		{"cmd/refrain/internal/demo", false, modulePath + "/sqlite", false},
		{"cmd/refrain", false, modulePath + "/storetest", true},
		{"proof/crash", false, modulePath + "/storetest", false},
		{"examples/orders", false, modulePath + "/sqlite", false},
		{".", false, modulePath + "/unheard", true},
	}
	for _, tt := range tests {
		if wrong := violation(tt.dir, tt.test, tt.imported); (wrong != "") != tt.wrong {
			t.Errorf("violation(%q, test=%t, %q) = %q, want wrong=%t", tt.dir, tt.test, tt.imported, wrong, tt.wrong)
		}
	}
}

// TestRootRequiresNothing holds the promise that linking the root module adds no dependency.
func TestRootRequiresNothing(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?m)^\s*(require|replace|tool)\b`).Find(mod); found != nil {
		t.Errorf("go.mod of the root module has a %s line", strings.TrimSpace(string(found)))
	}
	if _, err := os.Stat("go.sum"); err == nil {
		t.Error("go.sum exists at the root: something is required there")
	}
}

// TestWorkspaceNamesEveryModule keeps a module from escaping `go test work`.
// tools is outside on purpose: its dependencies must not decide versions in our builds.
func TestWorkspaceNamesEveryModule(t *testing.T) {
	t.Parallel()
	work, err := os.ReadFile("go.work")
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	for _, line := range regexp.MustCompile(`(?m)^\s*(?:use\s+)?(\.\S*)\s*$`).FindAllStringSubmatch(string(work), -1) {
		used = append(used, path.Clean(line[1]))
	}
	var present []string
	for _, file := range filesOf(t, "go.mod") {
		if dir := path.Dir(file); dir != "tools" && !strings.Contains("/"+file, "/testdata/") {
			present = append(present, dir)
		}
	}
	slices.Sort(used)
	slices.Sort(present)
	if !slices.Equal(used, present) {
		t.Errorf("go.work uses %v, modules present are %v", used, present)
	}
}
