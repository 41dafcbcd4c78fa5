package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// mutant is one small breakage and the tests that must notice it.
type mutant struct {
	ID       string
	File     string   // slash-separated, from the root of the tree
	Old, New string   // Old occurs one time in File
	Packages []string // what go test is given
	Run      string   // its -run pattern
}

// parse reads blocks of lines, separated by blank lines; # begins a comment line.
//
//	mutant <id>
//	file   <path from the root>
//	test   <package>… -run <pattern>
//	- old text, the line after the sign and one space, as it stands in the file
//	+ new text; no such line deletes the old text
//
// Several - or + lines are one text of several lines.
func parse(r io.Reader) ([]mutant, error) {
	var mutants []mutant
	seen := map[string]bool{}
	var block []string
	end := func() error {
		if len(block) == 0 {
			return nil
		}
		m, err := parseBlock(block)
		block = nil
		if err != nil {
			return err
		}
		if seen[m.ID] {
			return fmt.Errorf("mutant %s appears twice", m.ID)
		}
		seen[m.ID] = true
		mutants = append(mutants, m)
		return nil
	}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			if err := end(); err != nil {
				return nil, err
			}
		default:
			block = append(block, line)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return mutants, end()
}

func parseBlock(lines []string) (mutant, error) {
	var m mutant
	var old, replacement []string
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "mutant":
			m.ID = strings.TrimSpace(rest)
		case "file":
			m.File = strings.TrimSpace(rest)
		case "test":
			packages, run, ok := strings.Cut(rest, " -run ")
			if !ok {
				return m, fmt.Errorf("mutant %s: test wants <package>… -run <pattern>", m.ID)
			}
			m.Packages, m.Run = strings.Fields(packages), strings.TrimSpace(run)
		case "-":
			old = append(old, rest)
		case "+":
			replacement = append(replacement, rest)
		default:
			return m, fmt.Errorf("mutant %s: cannot read line %q", m.ID, line)
		}
	}
	m.Old, m.New = strings.Join(old, "\n"), strings.Join(replacement, "\n")
	switch {
	case m.ID == "":
		return m, fmt.Errorf("a block without a mutant line: %q", lines[0])
	case m.File == "", len(m.Packages) == 0, m.Run == "", m.Old == "":
		return m, fmt.Errorf("mutant %s: file, test and old text are all needed", m.ID)
	case m.Old == m.New:
		return m, fmt.Errorf("mutant %s changes nothing", m.ID)
	}
	return m, nil
}

// apply returns the mutated text of the mutant's file.
func (m mutant) apply(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.File)))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.Old); n != 1 {
		return "", fmt.Errorf("old text occurs %d times in %s, want 1", n, m.File)
	}
	return strings.Replace(string(text), m.Old, m.New, 1), nil
}
