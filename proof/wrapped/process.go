//go:build unix

package wrapped

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// Step is a moment in the life of a guarded request.
type Step string

// The steps at which a process can end or pause.
const (
	BeforeClaim     Step = "before the claim"
	InClaim         Step = "in the claim"         // decided, its transaction open
	AfterClaim      Step = "after the claim"      // committed, its guard not told yet
	BeforeEffect    Step = "before the effect"    // in the handler
	AfterEffect     Step = "after the effect"     // in the handler
	InCompletion    Step = "in the completion"    // decided, its transaction open
	AfterCompletion Step = "after the completion" // committed, the client not answered yet
)

// Setting is what one process is told.
type Setting struct {
	Engine  string
	Place   engines.Place // of the records
	Tenant  string
	Effects string         // the file of effects
	Charge  string         // what its effects are called
	At      Step           // where Signal hits it, the first time it gets there
	Signal  syscall.Signal // SIGKILL or SIGSTOP
	Skew    time.Duration  // of its store's clock
	Rerun   bool           // Contract.RerunLost
	Lease   time.Duration  // of the contract; 0 is Lease
	Busy    time.Duration  // how long a call waits for the store; 0 is the engine's own
}

const settingVar = "REFRAIN_WRAPPED"

// Lease is short, so that the tests wait for real leases, and long enough for a
// busy machine.
const Lease = 2 * time.Second

func (s Setting) contract() refrain.Contract {
	if s.Lease == 0 {
		s.Lease = Lease
	}
	return refrain.Contract{
		Operation: "charges.create", Schema: "1", ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour,
		Lease: s.Lease, Wait: 200 * time.Millisecond, RerunLost: s.Rerun,
	}
}

func (s Setting) guard() refrainhttp.Guard {
	return refrainhttp.Guard{Principal: func(*http.Request) (refrain.Scope, error) { return refrain.Tenant(s.Tenant), nil }}
}

// Serve is the life of a process that was started by a test: false in any other.
func Serve() bool {
	text := os.Getenv(settingVar)
	if text == "" {
		return false
	}
	var s Setting
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic(err)
	}
	db, err := s.open()
	if err != nil {
		panic(err)
	}
	process := &process{Setting: s, Store: db}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	server := &http.Server{
		Handler:           refrainhttp.Wrap(s.guard(), process, s.contract(), http.HandlerFunc(process.charge)),
		ReadHeaderTimeout: time.Minute,
	}
	go func() { // the parent's end is ours
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	panic(server.Serve(listener))
}

// process is the store of one process, which is hit at its step.
type process struct {
	Setting
	record.Store
	claimed, hit bool // requests come one after another
}

func (p *process) reach(step Step) {
	if p.At != step || p.hit {
		return
	}
	p.hit = true
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGCONT)
	_ = syscall.Kill(os.Getpid(), p.Signal)
	<-woken // the signal may take a moment to reach this thread
}

func (p *process) Change(ctx context.Context, id record.Identity, decide func(record.Seen, time.Time) (record.Edit, error)) error {
	var next record.State
	first := !p.claimed
	if first {
		p.reach(BeforeClaim)
	}
	err := p.Store.Change(ctx, id, func(seen record.Seen, now time.Time) (record.Edit, error) {
		edit, err := decide(seen, now)
		if edit.Put != nil {
			next = edit.Put.State
		}
		switch {
		case first && next == record.Submitted:
			p.reach(InClaim)
		case next.Final():
			p.reach(InCompletion)
		}
		return edit, err
	})
	switch {
	case first && next == record.Submitted:
		p.claimed = true
		p.reach(AfterClaim)
	case next.Final():
		p.reach(AfterCompletion)
	}
	return err
}

// charge has an effect no transaction of ours covers.
func (p *process) charge(w http.ResponseWriter, r *http.Request) {
	p.reach(BeforeEffect)
	running, _ := refrain.CallFrom(r.Context())
	file, err := os.OpenFile(p.Effects, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	if _, err := fmt.Fprintf(file, "%s %d %d\n", running.Ref, running.Attempt, running.Fence); err != nil {
		panic(err)
	}
	_ = file.Close()
	p.reach(AfterEffect)
	w.Header().Set("Location", "/charges/"+p.Charge)
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, "charge %s", p.Charge)
}
