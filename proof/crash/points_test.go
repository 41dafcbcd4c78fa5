package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/proof/processes"
)

// TestKillAtNamedPoints kills a process at each boundary of an action, then
// looks at the file and sends the action again.
func TestKillAtNamedPoints(t *testing.T) {
	kills := processes.Size(1, 3, 20)
	for _, tt := range []struct {
		point   string
		effects int // what the kill leaves
	}{
		{beforeWrite, 0},
		{beforeCommit, 0},
		{inCommit, 0},
		{committed, 1},
		{beforeAnswer, 1},
	} {
		t.Run(tt.point, func(t *testing.T) {
			t.Parallel()
			for range kills {
				path := filepath.Join(t.TempDir(), "shop.db")
				killAt(t, tt.point, path)
				demand(t, path, tt.effects)
				first := finish(t, path)
				if first.Replayed != (tt.effects == 1) {
					t.Errorf("the retry was told %+v", first)
				}
				demand(t, path, 1)
				again := finish(t, path)
				if !again.Replayed || again.Body != first.Body || again.Ref != first.Ref || first.Body == "" {
					t.Errorf("the retries were told %+v and %+v", first, again)
				}
				demand(t, path, 1)
			}
			t.Logf("%d kills: %d effect and receipt left, 1 after the retry", kills, tt.effects)
		})
	}
}

// demand verifies the file and counts its effects and receipts.
func demand(t *testing.T, path string, effects int) {
	t.Helper()
	census, err := processes.Verify(t.Context(), path)
	if err != nil || census.Orders != effects || census.Receipts != effects {
		t.Fatalf("the file has %+v, want %d: %v", census, effects, err)
	}
}

func command(ctx context.Context, t *testing.T, point, path string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, path)
	cmd.Env = append(os.Environ(), pointVariable+"="+point)
	return cmd
}

// killAt starts a victim, waits until it says that it is at point and kills it.
func killAt(t *testing.T, point, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := command(ctx, t, point, path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	hold, err := cmd.StdinPipe() // open until the victim is dead
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	reached, signal, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reached.Close()
	cmd.ExtraFiles = []*os.File{signal}
	err = cmd.Start()
	signal.Close() // the victim has its own
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(reached).ReadString('\n')
	if err != nil || line != point+"\n" {
		t.Errorf("the victim said %q: %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Errorf("the victim ended by itself: %v", err)
	}
	if exit := new(exec.ExitError); !errors.As(cmd.Wait(), &exit) || exit.Exited() {
		t.Fatalf("the victim was not killed: %s", stderr.Bytes())
	}
}

// finish sends the action again, in a process that runs to its end.
func finish(t *testing.T, path string) (answer told) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stderr bytes.Buffer
	cmd := command(ctx, t, nowhere, path)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return answer
}
