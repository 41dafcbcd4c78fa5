//go:build unix

package wrapped

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// Process is a started process.
type Process struct {
	t   testing.TB
	cmd *exec.Cmd
	url string
}

// Start starts a process; it ends with the test.
func Start(t testing.TB, s Setting) *Process {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), settingVar+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return &Process{t, cmd, "http://" + strings.TrimSpace(address)}
}

// Continue wakes a stopped process.
func (p *Process) Continue() {
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		p.t.Error(err)
	}
}

// untilStopped sends the request that stops the process, waits for the kernel to say so,
// and returns where the request's answer will be.
func (p *Process) untilStopped() <-chan answer {
	p.t.Helper()
	var stopped atomic.Bool
	first := make(chan answer, 1)
	go func() {
		a := post(p.url)
		for !stopped.Load() && a.problem() == "store-unavailable" { // a busy server refuses before anything begins
			a = post(p.url)
		}
		if !stopped.Load() {
			_ = p.cmd.Process.Kill()
		}
		first <- a
	}()
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		p.t.Fatalf("the process did not stop: %v, %v", status, err)
	}
	stopped.Store(true)
	return first
}
