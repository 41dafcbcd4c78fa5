package refrain_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateAPI = flag.Bool("update", false, "rewrite api.txt from the source")

// surface is what one package exports at its top level. Methods are not counted: a type brings its own.
type surface struct {
	types, funcs []string
}

// budget caps the names a reader must learn; −1 is no cap.
var budget = map[string]struct{ types, funcs int }{
	".":      {types: 15, funcs: 12},
	"record": {types: 16, funcs: -1}, // fifteen and Edit, what a change writes
}

// TestAPI holds the exported names of the root module in api.txt, so that growth shows in review.
func TestAPI(t *testing.T) {
	packages := publicPackages(t)
	var text strings.Builder
	for _, dir := range packages {
		s := exported(t, dir)
		if len(s.types)+len(s.funcs) == 0 {
			continue
		}
		fmt.Fprintf(&text, "package %s\n", path.Join(modulePath, dir))
		for _, line := range append(s.types, s.funcs...) {
			fmt.Fprintf(&text, "\t%s\n", line)
		}
		limit, capped := budget[dir]
		if !capped {
			continue
		}
		if len(s.types) > limit.types {
			t.Errorf("package %s exports %d types, its budget is %d", dir, len(s.types), limit.types)
		}
		if limit.funcs >= 0 && len(s.funcs) > limit.funcs {
			t.Errorf("package %s exports %d functions, its budget is %d", dir, len(s.funcs), limit.funcs)
		}
	}
	if *updateAPI {
		if err := os.WriteFile("api.txt", []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile("api.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range difference(string(want), text.String()) {
		t.Error(line)
	}
	if t.Failed() {
		t.Log("if intended: go test -run TestAPI -update . (or make api)")
	}
}

// publicPackages lists the directories of the root module whose packages others can import.
func publicPackages(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name != "." {
			base := entry.Name()
			_, err := os.Stat(filepath.Join(name, "go.mod"))
			if err == nil || base == "internal" || base == "testdata" || base[0] == '.' || base[0] == '_' {
				return filepath.SkipDir
			}
		}
		dirs = append(dirs, filepath.ToSlash(name))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(dirs)
	return dirs
}

// exported reads one directory; a directory without a library package exports nothing.
func exported(t *testing.T, dir string) surface {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var s surface
	fset := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if file.Name.Name == "main" {
			return surface{}
		}
		s.add(fset, file)
	}
	slices.Sort(s.types)
	slices.Sort(s.funcs)
	// The same name under two build constraints is one name.
	s.types, s.funcs = slices.Compact(s.types), slices.Compact(s.funcs)
	return s
}

func (s *surface) add(fset *token.FileSet, file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil && decl.Name.IsExported() {
				s.funcs = append(s.funcs, signature(fset, decl))
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.IsExported() {
					s.types = append(s.types, typeLine(spec))
				}
			}
		}
	}
}

func typeLine(spec *ast.TypeSpec) string {
	kind := "defined"
	switch spec.Type.(type) {
	case *ast.StructType:
		kind = "struct"
	case *ast.InterfaceType:
		kind = "interface"
	case *ast.FuncType:
		kind = "func"
	}
	if spec.Assign.IsValid() {
		kind = "alias"
	}
	return "type " + spec.Name.Name + " " + kind
}

// signature prints a function without its body, on one line however the source wraps it.
func signature(fset *token.FileSet, decl *ast.FuncDecl) string {
	bare := *decl
	bare.Body, bare.Doc = nil, nil
	var out bytes.Buffer
	if err := printer.Fprint(&out, fset, &bare); err != nil {
		panic(err)
	}
	line := strings.Join(strings.Fields(out.String()), " ")
	return strings.NewReplacer("( ", "(", ", )", ")", "[ ", "[", ", ]", "]").Replace(line)
}

// difference lists the lines only one of two API texts has, each under its package.
func difference(want, got string) []string {
	qualified := func(text string) []string {
		var lines []string
		pkg := ""
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if name, ok := strings.CutPrefix(line, "package "); ok {
				pkg = name
			} else if line != "" {
				lines = append(lines, pkg+": "+line)
			}
		}
		return lines
	}
	had, has := qualified(want), qualified(got)
	var lines []string
	for _, line := range had {
		if !slices.Contains(has, line) {
			lines = append(lines, "gone from the source: "+line)
		}
	}
	for _, line := range has {
		if !slices.Contains(had, line) {
			lines = append(lines, "not in api.txt: "+line)
		}
	}
	return lines
}

func TestDifference(t *testing.T) {
	t.Parallel()
	got := difference("package a\n\tfunc Old()\n\ttype Kept struct\n", "package a\n\ttype Kept struct\npackage b\n\tfunc New()\n")
	want := []string{"gone from the source: a: func Old()", "not in api.txt: b: func New()"}
	if !slices.Equal(got, want) {
		t.Errorf("difference = %q, want %q", got, want)
	}
}

func TestExported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := "package p\n\ntype (\n\tA struct{}\n\tB = A\n\tc int\n)\n\nfunc (A) Method() {}\n\n" +
		"func Wrapped[T any](\n\ta int,\n\tb string,\n) (T, error) {\n\tpanic(0)\n}\n\nfunc hidden() {}\n"
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	s := exported(t, dir)
	if want := []string{"type A struct", "type B alias"}; !slices.Equal(s.types, want) {
		t.Errorf("types = %q, want %q", s.types, want)
	}
	if want := []string{"func Wrapped[T any](a int, b string) (T, error)"}; !slices.Equal(s.funcs, want) {
		t.Errorf("funcs = %q, want %q", s.funcs, want)
	}
}
