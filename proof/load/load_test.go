//go:build linux

package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/processes"
	"github.com/refrain-dev/refrain/proof/servers"
)

// TestMain runs the tests, or a child where a test started this binary as one.
func TestMain(m *testing.M) {
	if text := os.Getenv(variable); text != "" {
		os.Exit(child(text))
	}
	goleak.VerifyTestMain(m)
}

// TestSharedServer lets four processes of 64 workers ask one server for the same
// keys while it kills their sessions, and judges what all of them were told.
func TestSharedServer(t *testing.T) {
	for _, kind := range engines.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			var dsn string
			if kind.MySQL {
				dsn = servers.StartMariaDB(t, "", "--max-connections=100").DSN()
			} else {
				dsn = servers.StartPostgres(t, "", "max_connections=100").DSN()
			}
			share(t, engines.NewShop(t, kind, dsn), time.Duration(processes.Size(1, 5, 60))*time.Second)
		})
	}
}

func share(t *testing.T, shop *engines.Shop, last time.Duration) {
	random := processes.Random(t)
	begin := clock() + int64(300*time.Millisecond)
	dir := t.TempDir()
	var all sync.WaitGroup
	for n := range children {
		a := assignment{Kind: shop.Name, Shop: shop.Place(), Child: n, Seed: random.Uint64(), Begin: begin, Last: last,
			Into: filepath.Join(dir, fmt.Sprint(n))}
		all.Go(func() { start(t, a) })
	}
	stop := make(chan struct{})
	killed := 0
	var killer sync.WaitGroup
	killer.Go(func() { killed = kill(t, shop, stop) })
	all.Wait()
	close(stop)
	killer.Wait()
	if t.Failed() {
		return
	}

	var calls []processes.Call
	for n := range children {
		calls = append(calls, read(t, filepath.Join(dir, fmt.Sprint(n)))...)
	}
	counts, err := processes.Judge(calls)
	if err != nil {
		t.Error(err)
	}
	orders, err := shop.Orders(t.Context())
	if err != nil {
		t.Error(err)
	}
	told := make(map[string]string) // by key
	for _, c := range calls {
		if c.Body == "" {
			continue
		}
		told[c.Key] = c.Body
		if orders[c.Key].Token != c.Body {
			t.Errorf("%s has %+v and was told %q", c.Key, orders[c.Key], c.Body)
		}
	}
	if killed == 0 || counts["executed"] == 0 || counts["replayed"] == 0 || counts["conflict"] == 0 {
		t.Errorf("the load was not worth it: %d sessions killed, told %v", killed, counts)
	}
	kinds := slices.Sorted(maps.Keys(counts))
	summary := ""
	for _, kind := range kinds {
		summary += fmt.Sprintf(" %d %s,", counts[kind], kind)
	}
	t.Logf("%s: %d processes of %d workers, %d sessions killed: %d calls are linearizable:%s %d identities, %d effects, %d of them told to nobody",
		shop.Name, children, workers, killed, len(calls), summary, len(orders), len(orders), len(orders)-len(told))
}

// start runs one child to its end.
func start(t *testing.T, a assignment) {
	text, err := json.Marshal(a)
	if err != nil {
		t.Error(err)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), a.Last+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Run(); err != nil {
		t.Errorf("process %d: %v\n%s", a.Child, err, printed.Bytes())
	}
}

// kill ends a random session of the shop over and over.
func kill(t *testing.T, shop *engines.Shop, stop chan struct{}) (killed int) {
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return killed
		case <-tick.C:
		}
		done, err := shop.KillSession(t.Context())
		if err != nil {
			t.Errorf("kill a session: %v", err)
			return killed
		}
		if done {
			killed++
		}
	}
}

func read(t *testing.T, path string) (calls []processes.Call) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in := json.NewDecoder(file)
	for {
		var call processes.Call
		if err := in.Decode(&call); err == io.EOF {
			return calls
		} else if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, call)
	}
}
