//go:build linux

package charges

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// worker is a started one.
type worker struct {
	x     *trial
	cmd   *exec.Cmd
	in    io.WriteCloser
	url   string
	ended chan error
}

// start starts a worker that serves, and runs nothing yet.
func (x *trial) start(change ...func(*setting)) *worker {
	x.Helper()
	s := x.setting
	for _, c := range change {
		c(&s)
	}
	text, err := json.Marshal(s)
	if err != nil {
		x.Fatal(err)
	}
	w := &worker{x: x, cmd: exec.Command(os.Args[0])}
	w.cmd.Env = append(os.Environ(), settingVariable+"="+string(text))
	w.cmd.Stderr = os.Stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		x.Fatal(err)
	}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		x.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		x.Fatal(err)
	}
	x.Cleanup(func() {
		if w.ended == nil {
			_ = w.cmd.Process.Kill()
			_ = w.cmd.Wait()
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		x.Fatal(err)
	}
	w.url = "http://" + strings.TrimSpace(address)
	return w
}

func (w *worker) tell(word string) {
	w.x.Helper()
	if _, err := io.WriteString(w.in, word+"\n"); err != nil {
		w.x.Fatal(err)
	}
}

func (w *worker) run() { w.tell("run") }

// stop has the worker write what it knows and end.
func (w *worker) stop() {
	w.x.Helper()
	w.tell("stop")
	w.ended = make(chan error, 1)
	go func() { w.ended <- w.cmd.Wait() }()
	select {
	case err := <-w.ended:
		if err != nil {
			w.x.Errorf("a worker ended with %v", err)
		}
	case <-time.After(patience):
		_ = w.cmd.Process.Kill()
		<-w.ended
		w.x.Fatal("a worker did not stop")
	}
}

// killed waits for the end of a worker that kills itself.
func (w *worker) killed() {
	w.x.Helper()
	w.ended = make(chan error, 1)
	go func() { w.ended <- w.cmd.Wait() }()
	select {
	case <-w.ended:
		if status := w.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
			w.x.Fatalf("the worker was not killed: %v", w.cmd.ProcessState)
		}
	case <-time.After(patience):
		_ = w.cmd.Process.Kill()
		<-w.ended
		w.x.Fatal("the worker did not come to its step")
	}
}

// stopped waits for the kernel to say that the worker has stopped.
func (w *worker) stopped() {
	w.x.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // the kernel tells the parent alone, and blocks it
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(w.cmd.Process.Pid, &status, syscall.WUNTRACED|syscall.WNOHANG, nil)
		switch {
		case err != nil || pid != 0 && !status.Stopped():
			w.x.Fatalf("the worker did not stop: %v, %v", status, err)
		case pid != 0:
			return
		case time.Now().After(deadline):
			w.x.Fatal("the worker did not come to its step")
		}
	}
}

func (w *worker) signal(s syscall.Signal) {
	w.x.Helper()
	if err := w.cmd.Process.Signal(s); err != nil {
		w.x.Fatal(err)
	}
}
