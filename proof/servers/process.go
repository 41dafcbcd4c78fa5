//go:build linux

package servers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is one server, with whatever processes it started itself.
type process struct {
	name  string
	log   string // path of what it prints
	build func() *exec.Cmd

	cmd   *exec.Cmd
	ended chan struct{} // closed when it is gone
	err   error         // its exit, once ended is closed
}

// launch starts the server and ends it with the test.
func (p *process) launch(t testing.TB) {
	t.Helper()
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close() // the server has its own
	p.cmd = p.build()
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr.Setpgid = true              // an interrupt at the terminal is the test's
	p.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL // also when the test binary is killed
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	cmd, ended := p.cmd, make(chan struct{})
	p.ended = ended
	go func() {
		defer close(ended)
		p.err = cmd.Wait()
	}()
}

// cleanup kills the server at the end of the test and shows the end of its log
// if the test failed.
func (p *process) cleanup(t testing.TB) {
	t.Cleanup(func() {
		p.kill()
		if !t.Failed() {
			return
		}
		text, _ := os.ReadFile(p.log)
		lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		t.Logf("the end of the log of %s:\n%s", p.name, bytes.Join(lines[max(0, len(lines)-20):], []byte("\n")))
	})
}

// kill ends the server and what it started at one moment, as a power cut would:
// nothing of it runs on. It may be gone already.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	pids := p.freeze()
	for _, pid := range slices.Backward(pids) { // the first one last: it would start others
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-p.ended
	for _, pid := range pids {
		for alive(pid) { // the kernel is at it
			time.Sleep(time.Millisecond)
		}
	}
}

// Kill ends the server by SIGKILL.
func (p *process) Kill(t testing.TB) {
	t.Helper()
	select {
	case <-p.ended:
		t.Errorf("%s ended by itself: %v", p.name, p.err)
	default:
	}
	p.kill()
}

// Pause stops the server and what it started by SIGSTOP.
func (p *process) Pause(t testing.TB) {
	t.Helper()
	if len(p.freeze()) == 0 {
		t.Fatalf("%s is gone: %v", p.name, p.err)
	}
}

// Resume wakes a paused server.
func (p *process) Resume(t testing.TB) {
	t.Helper()
	for _, pid := range slices.Backward(family(p.cmd.Process.Pid)) {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
	}
}

// end asks the server to end and waits until it is gone.
func (p *process) end(t testing.TB, how syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(how); err != nil {
		t.Errorf("%s ended by itself: %v", p.name, p.err)
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("%s does not end", p.name)
	}
}

// ready polls until the server answers; it has no signal for it.
func (p *process) ready(t testing.TB, ask func() error) {
	t.Helper()
	var err error
	Until(t, p.name+" answers", func() bool {
		select {
		case <-p.ended:
			text, _ := os.ReadFile(p.log)
			t.Fatalf("%s did not start: %v\n%s", p.name, p.err, text)
		default:
		}
		err = ask()
		return err == nil
	}, &err)
}

// Until polls a server's state; what names it, and why, if it is not nil, holds
// the last error.
func Until(t testing.TB, what string, reached func() bool, why *error) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !reached() {
		select {
		case <-tick.C:
		case <-deadline.C:
			if why != nil {
				t.Fatalf("not within %v: %s: %v", patience, what, *why)
			}
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// freeze stops the whole family: its head first, so that it starts no more, and
// again until nobody is left running.
func (p *process) freeze() []int {
	for {
		running := false
		pids := family(p.cmd.Process.Pid)
		for _, pid := range pids {
			if state := stateOf(pid); state != 'T' && state != 'Z' && state != 0 {
				running = true
				_ = syscall.Kill(pid, syscall.SIGSTOP) // it may be gone
			}
		}
		if !running {
			return pids
		}
		time.Sleep(time.Millisecond) // a stop is not immediate, and nothing tells of it
	}
}

// family is pid with all it started, parents first.
func family(pid int) (pids []int) {
	if !alive(pid) {
		return nil
	}
	pids = append(pids, pid)
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, field := range strings.Fields(string(text)) {
		child, err := strconv.Atoi(field)
		if err == nil {
			pids = append(pids, family(child)...)
		}
	}
	return pids
}

func alive(pid int) bool {
	state := stateOf(pid)
	return state != 0 && state != 'Z'
}

// stateOf is the letter of the process's state, 0 if it is gone.
func stateOf(pid int) byte {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, ok := bytes.Cut(text, []byte(") "))
	if !ok || len(rest) == 0 {
		return 0
	}
	return rest[0]
}

// Ended reports whether the server is gone.
func (p *process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}
