// Package release rehearses a release: what make release would publish is built
// from its tags, as a stranger would, before anybody publishes it.
package release

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module  = "github.com/refrain-dev/refrain"
	version = "v0.1.0"
)

// tags are the modules we publish, by the tag that publishes them.
var tags = map[string]string{
	version:                  "go.mod",
	"mysql/" + version:       "mysql/go.mod",
	"postgres/" + version:    "postgres/go.mod",
	"sqlite/" + version:      "sqlite/go.mod",
	"watermill/" + version:   "watermill/go.mod",
	"cmd/refrain/" + version: "cmd/refrain/go.mod",
}

func TestRelease(t *testing.T) {
	if os.Getenv("REFRAIN_PROOF") == "" {
		t.Skip("rehearsing a release builds everything anew: set REFRAIN_PROOF=1 to do it")
	}
	clone := cloneTree(t)
	head := clone.run("git", "rev-parse", "HEAD")

	clone.refuses("not look", "")
	clone.refuses("version without v", "0.1.0")
	clone.refuses("version 2", "v2.0.0")
	clone.refuses("no notes", "v0.987.0")
	clone.write("stray.txt", "left behind")
	clone.refuses("a stray file", version)
	clone.remove("stray.txt")

	clone.run("make", "release", "VERSION="+version)
	clone.refuses("tags exist", version)

	if got := clone.run("git", "rev-parse", "HEAD"); got != head {
		t.Errorf("main moved from %s to %s", head, got)
	}
	if got := clone.run("git", "status", "--porcelain"); got != "" {
		t.Errorf("the checkout was changed:\n%s", got)
	}
	if got := strings.Fields(clone.run("git", "tag", "--list")); len(got) != len(tags) {
		t.Errorf("tags %v, want %d", got, len(tags))
	}
	commit := clone.run("git", "rev-parse", version+"^{commit}")
	if parent := clone.run("git", "rev-parse", commit+"^"); parent != head {
		t.Errorf("the release commit is on %s, want on main's %s", parent, head)
	}
	for tag, mod := range tags {
		if got := clone.run("git", "rev-parse", tag+"^{commit}"); got != commit {
			t.Errorf("%s is on %s, want %s", tag, got, commit)
		}
		text := clone.run("git", "show", tag+":"+mod)
		if strings.Contains(text, "=>") || strings.Contains(text, "v0.0.0\n") {
			t.Errorf("%s:%s is not fit to publish:\n%s", tag, mod, text)
		}
	}
	for _, mod := range strings.Fields(clone.run("git", "diff", "--name-only", head, commit)) {
		if filepath.Base(mod) != "go.mod" {
			t.Errorf("the release commit changes %s", mod)
		}
	}

	stranger := consumer(t, clone)
	stranger.run("go", "install", "-trimpath", module+"/cmd/refrain@"+version)
	if _, err := os.Stat(filepath.Join(stranger.dir, "bin", "refrain")); err != nil {
		t.Errorf("go install left no binary: %v", err)
	}
	stranger.run("go", "mod", "init", "example.com/consumer")
	stranger.write("main.go", "package main\n\nimport (\n\t_ \""+module+"/refrainhttp\"\n\t_ \""+module+"/sqlite\"\n)\n\nfunc main() {}\n")
	stranger.run("go", "get", module+"/sqlite@"+version)
	stranger.run("go", "build", "-trimpath", "./...")
	for line := range strings.Lines(stranger.run("go", "list", "-m", "all")) {
		if name, _ := strings.CutPrefix(strings.TrimSpace(line), module); strings.HasPrefix(line, module) &&
			!slices.Contains([]string{" " + version, "/sqlite " + version}, name) {
			t.Errorf("a consumer of sqlite got %s", strings.TrimSpace(line))
		}
	}
}

// place is a directory in which commands run, with an environment of its own.
type place struct {
	t   *testing.T
	dir string
	env []string
}

func (p place) output(name string, args ...string) (string, error) {
	cmd := exec.CommandContext(p.t.Context(), name, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), p.env...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (p place) run(name string, args ...string) string {
	p.t.Helper()
	out, err := p.output(name, args...)
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// refuses demands that a release fails and tags nothing more.
func (p place) refuses(why, version string) {
	p.t.Helper()
	before := p.run("git", "tag", "--list")
	if out, err := p.output("make", "release", "VERSION="+version); err == nil {
		p.t.Errorf("%s: released %q all the same:\n%s", why, version, out)
	}
	if after := p.run("git", "tag", "--list"); after != before {
		p.t.Errorf("%s: a refused release left tags: %s", why, after)
	}
}

func (p place) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p place) remove(name string) {
	p.t.Helper()
	if err := os.Remove(filepath.Join(p.dir, name)); err != nil {
		p.t.Fatal(err)
	}
}

// cloneTree clones the last commit of this checkout as main, with release notes for the version.
func cloneTree(t *testing.T) place {
	t.Helper()
	here := place{t: t, dir: "."}
	root, err := here.output("git", "rev-parse", "--show-toplevel")
	if err != nil {
		t.Skip("not a git checkout: nothing to release from")
	}
	if _, err := here.output("git", "rev-parse", "--verify", "HEAD"); err != nil {
		t.Skip("a checkout without a commit: nothing to release")
	}
	if _, err := os.Stat(filepath.Join(root, "go.work")); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the checkout around this directory is of something else")
	}
	clone := place{t: t, dir: filepath.Join(t.TempDir(), "clone"), env: []string{
		"GIT_AUTHOR_NAME=rehearsal", "GIT_AUTHOR_EMAIL=rehearsal@example.invalid",
		"GIT_COMMITTER_NAME=rehearsal", "GIT_COMMITTER_EMAIL=rehearsal@example.invalid",
		"GOWORK=", "MAKEFLAGS=",
	}}
	here.run("git", "clone", "--quiet", "--no-tags", "file://"+root, clone.dir)
	clone.run("git", "checkout", "--quiet", "-B", "main")
	changelog, err := os.ReadFile(filepath.Join(clone.dir, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	const unreleased = "## [Unreleased]\n"
	if !strings.Contains(string(changelog), unreleased) {
		t.Fatalf("CHANGELOG.md has no %q", unreleased)
	}
	heading := unreleased + "\n## [" + strings.TrimPrefix(version, "v") + "] - 2000-01-01\n\nRehearsed.\n\n"
	clone.write("CHANGELOG.md", strings.Replace(string(changelog), unreleased, heading, 1))
	clone.run("git", "commit", "--quiet", "--all", "--message", "changelog: rehearse")
	return clone
}

// consumer is an empty directory whose go command finds our modules by the clone's tags
// and all others in the module cache first. Its own module cache keeps a rehearsed
// version from being taken for the published one.
func consumer(t *testing.T, clone place) place {
	t.Helper()
	dir := t.TempDir()
	cache := clone.run("go", "env", "GOMODCACHE")
	proxy := clone.run("go", "env", "GOPROXY")
	return place{t: t, dir: dir, env: []string{
		"GOWORK=off", "GOFLAGS=-modcacherw", "GOTOOLCHAIN=local",
		"GOBIN=" + filepath.Join(dir, "bin"),
		"GOMODCACHE=" + t.TempDir(),
		"GOPROXY=file://" + filepath.Join(cache, "cache", "download") + "," + proxy,
		"GOPRIVATE=" + module,
		"GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=url.file://" + clone.dir + ".insteadOf",
		"GIT_CONFIG_VALUE_0=https://" + module,
	}}
}
