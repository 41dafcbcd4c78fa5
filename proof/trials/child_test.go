package trials

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/processes"
	"github.com/refrain-dev/refrain/refrainhttp"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		fmt.Fprintln(os.Stderr, child(text))
		os.Exit(1)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // most of a trial is waiting for a server
		panic(err)
	}
	os.Exit(processes.Main(m))
}

// childVariable tells a process that it is an instance of a shop on a server.
const childVariable = "REFRAIN_TRIAL_CHILD"

type instance struct {
	Engine string
	Place  engines.Place
}

// patient is longer than a busy disk keeps anybody waiting: who waits that long
// waits for a lock that nobody gives back.
const patient = time.Minute

// child serves orders until its parent is gone.
func child(text string) error {
	var in instance
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return err
	}
	room, err := in.Place.Shop(in.Engine)
	if err != nil {
		return err
	}
	engine, err := room.Connect("", 8, engines.Options{Busy: patient})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = engine.Close(context.Background())
		os.Exit(0)
	}()
	own := refrainhttp.Guard{Principal: func(*http.Request) (refrain.Scope, error) { return refrain.Tenant("north"), nil }}
	server := &http.Server{Handler: engine.Handler(own, orders, engines.Order{Token: fmt.Sprint("process ", os.Getpid())}), ReadHeaderTimeout: time.Minute}
	return server.Serve(listener)
}

// startChild starts an instance; it ends with the test.
func startChild(t *testing.T, room *engines.Shop) (url string) {
	t.Helper()
	text, err := json.Marshal(instance{room.Name, room.Place()})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
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
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + strings.TrimSpace(address)
}
