package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

const (
	rounds     = 20
	duplicates = 50
)

// patient is a call that waits long enough for the whole herd.
func patient(key string) refrain.Call {
	c := call(key)
	c.Contract.Wait = time.Minute
	return c
}

// herd sends duplicates of one call at once and returns the ref they got.
func herd(db *DB, key string) (ref string, err error) {
	var wg sync.WaitGroup
	outs := make([]refrain.Outcome, duplicates)
	errs := make([]error, duplicates)
	for i := range duplicates {
		wg.Go(func() { outs[i], errs[i] = db.Execute(context.Background(), patient(key), put(key)) })
	}
	wg.Wait()
	for i := range duplicates {
		if errs[i] != nil {
			return "", errs[i]
		}
		if outs[i].Ref != outs[0].Ref {
			return "", fmt.Errorf("refs %s and %s for one key", outs[0].Ref, outs[i].Ref)
		}
	}
	return outs[0].Ref, nil
}

// child is the other process: for each key it reads it sends a herd and answers
// with the ref. A line "contract x" makes it use another identity version.
func child(path string) {
	db, err := Open(path, Options{Busy: time.Minute})
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	defer db.Close(context.Background())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if operation, ok := strings.CutPrefix(in.Text(), "contract "); ok {
			c := regional(operation, "k")
			fmt.Println(run(db, c, put("regional")))
			continue
		}
		ref, err := herd(db, in.Text())
		if err != nil {
			ref = "error: " + err.Error()
		}
		fmt.Println(ref)
	}
}

// regional is a call whose identity has one dimension more.
func regional(operation, key string) refrain.Call {
	c := named(operation, key)
	c.Contract.Dimensions = []string{"tenant", "region"}
	c.Scope = c.Scope.With("region", "eu")
	return c
}

// start runs this test binary as another process.
func start(t *testing.T, path string) (ask func(line string) string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SQLITE_TEST_CHILD="+path)
	cmd.Stderr = os.Stderr
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if errIn != nil || errOut != nil {
		t.Fatal(errIn, errOut)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewReader(out)
	return func(line string) string {
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Error(err)
		}
		answer, err := lines.ReadString('\n')
		if err != nil {
			t.Error(err)
		}
		return strings.TrimSpace(answer)
	}
}

// contend lets two parties send a herd of each key at the same time.
func contend(t *testing.T, db *DB, other func(key string) string) {
	t.Helper()
	var want []string
	for i := range rounds {
		key := fmt.Sprintf("round %02d", i)
		want = append(want, key)
		var theirs string
		var wg sync.WaitGroup
		wg.Go(func() { theirs = other(key) })
		ours, err := herd(db, key)
		wg.Wait()
		if err != nil || theirs != ours {
			t.Errorf("%s: ours %s (%v), theirs %s", key, ours, err, theirs)
		}
	}
	wantItems(t, db, want...)
}

func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db := openAt(t, path, Options{Busy: time.Minute})
	contend(t, db, start(t, path))
}

func TestTwoEngines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db := openAt(t, path, Options{Busy: time.Minute})
	other := openAt(t, path, Options{Busy: time.Minute})
	contend(t, db, func(key string) string {
		ref, err := herd(other, key)
		if err != nil {
			return err.Error()
		}
		return ref
	})
}

// A process whose identities are made of something else executes nothing.
func TestIdentityVersionOfOtherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db := openAt(t, path)
	if answer := start(t, path)("contract carts"); answer != "<nil>" {
		t.Fatal(answer)
	}
	runs := 0
	err := run(db, named("carts", "k"), counted(&runs, put("k")))
	wantRow(t, err, "9", refrain.ErrContractChanged)
	equal(t, "runs", runs, 0)
	if err := run(db, regional("carts", "another"), put("another")); err != nil {
		t.Error(err)
	}
	wantItems(t, db, "another", "regional")
}
