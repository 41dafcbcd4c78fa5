package processes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for a process or an answer.
const patience = time.Minute

// Demo is one running demo process.
type Demo struct {
	URL string // after Ready

	cmd    *exec.Cmd
	first  chan string   // the first line of stdout; closed without one at its end
	stderr bytes.Buffer  // complete once ended is closed
	ended  chan struct{} // closed when the process is gone
	err    error         // its exit, once ended is closed
}

// Launch starts a demo on the SQLite file at path, or on the database that a URL
// names. It does not wait until the process serves. The process ends with the test
// at the latest.
func Launch(t testing.TB, path string, args ...string) *Demo {
	t.Helper()
	if !strings.Contains(path, "://") {
		path = "sqlite:" + path
	}
	args = append([]string{"demo", "--listen", "127.0.0.1:0", "--db", path}, args...)
	d := &Demo{cmd: exec.Command(Program(t), args...), first: make(chan string, 1), ended: make(chan struct{})}
	d.cmd.Stderr = &d.stderr
	stdout, err := d.cmd.StdoutPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go d.follow(stdout)
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // it may be gone
		<-d.ended
		if t.Failed() && d.stderr.Len() > 0 {
			t.Logf("stderr of process %d:\n%s", d.cmd.Process.Pid, d.stderr.Bytes())
		}
	})
	return d
}

func (d *Demo) follow(stdout io.Reader) {
	defer close(d.ended)
	lines := bufio.NewReader(stdout)
	if line, err := lines.ReadString('\n'); err == nil {
		d.first <- strings.TrimSuffix(line, "\n")
	}
	close(d.first)
	_, _ = io.Copy(io.Discard, lines) // ends with the process
	d.err = d.cmd.Wait()
}

// Ready waits until the process serves and sets its URL.
func (d *Demo) Ready(t testing.TB) {
	t.Helper()
	select {
	case line, ok := <-d.first:
		if !ok {
			<-d.ended
			t.Fatalf("the process did not start: %v\n%s", d.err, d.stderr.Bytes())
		}
		url, ok := strings.CutPrefix(line, "listening on ")
		if !ok {
			t.Fatalf("the first line is %q", line)
		}
		d.URL = url
	case <-time.After(patience):
		t.Fatal("the process neither started nor ended")
	}
}

// Start is Launch and Ready.
func Start(t testing.TB, path string, args ...string) *Demo {
	t.Helper()
	d := Launch(t, path, args...)
	d.Ready(t)
	return d
}

// Kill ends the process by SIGKILL and waits until it is gone.
func (d *Demo) Kill(t testing.TB) {
	t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		t.Errorf("the process ended by itself: %v", err)
	}
	d.gone(t)
}

// Stop asks the process to end by SIGTERM and demands that it does so well.
func (d *Demo) Stop(t testing.TB) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("the process ended by itself: %v", err)
	}
	d.gone(t)
	if d.err != nil {
		t.Errorf("the process ended badly: %v\n%s", d.err, d.stderr.Bytes())
	}
}

func (d *Demo) gone(t testing.TB) {
	t.Helper()
	select {
	case <-d.ended:
	case <-time.After(patience):
		t.Fatal("the process does not end")
	}
	if bytes.Contains(d.stderr.Bytes(), []byte("DATA RACE")) {
		t.Errorf("the process raced:\n%s", d.stderr.Bytes())
	}
}

// Command runs one of the program's other commands to its end; an exit code
// that is not 0 is an error.
func Command(ctx context.Context, program string, args ...string) (stdout string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w: %s%s", strings.Join(args, " "), err, out, exit.Stderr)
	}
	return string(out), err
}
