//go:build linux

package charges

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/fakeprovider"
	"github.com/refrain-dev/refrain/operation"
)

// client is the worker's side of the bank.
func (p *process) client() *external.HTTP {
	h := &external.HTTP{
		Profile: p.profile(), Dial: p.dial, Timeout: p.patient(),
		Build: func(ctx context.Context, s external.Submission) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodPost, p.Bank+"/charges", bytes.NewReader(s.Input))
		},
	}
	if kindOf(p.Kind).queries {
		h.Ask = func(ctx context.Context, s external.Submission) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodGet, p.Bank+"/charges?key="+url.QueryEscape(s.Key), nil)
		}
		h.Found = found
	}
	return h
}

func found(a external.Answer) (f operation.Finding, err error) {
	if a.Status != http.StatusOK {
		return f, fmt.Errorf("status %d", a.Status)
	}
	var r fakeprovider.Report
	if err := json.Unmarshal(a.Body, &r); err != nil {
		return f, err
	}
	switch r.State {
	case fakeprovider.Charged:
		f.Found, f.Reply = true, operation.Reply{End: operation.Confirmed, Reference: r.Charges[0].ID}
	case fakeprovider.Declined:
		f.Found, f.Reply = true, operation.Reply{End: operation.Refused}
	case fakeprovider.Pending:
		f.Found, f.Pending = true, true
	case fakeprovider.NotFound:
	default:
		return f, errors.New("what the bank says makes no sense")
	}
	return f, nil
}

// line is a connection to the bank, on which the worker meets two of its steps.
type line struct {
	net.Conn
	p            *process
	spoke, heard sync.Once
	charges      bool
}

func (p *process) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &line{Conn: conn, p: p}, nil
}

// Write is below the send gate: what it does first is behind the last look at the
// clock.
func (l *line) Write(b []byte) (int, error) {
	l.spoke.Do(func() {
		if l.charges = bytes.HasPrefix(b, []byte("POST ")); l.charges {
			l.p.reach(beforeByte)
		}
	})
	return l.Conn.Write(b)
}

func (l *line) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if n > 0 {
		l.heard.Do(func() {
			if !bytes.HasPrefix(b[:n], []byte("HTTP/1.1 200")) { // that of a question
				l.p.reach(afterAct)
			}
		})
	}
	return n, err
}

// bank is the provider, in the test's process, and what arrived there.
type bank struct {
	*fakeprovider.Server

	mu      sync.Mutex
	arrived map[string]int // requests for a charge, by key
	asked   int
	silent  bool   // questions are not answered
	arrives func() // at the next charge, before the bank acts; nil for nothing
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	silent, arrives := false, func() {}
	if r.Method == http.MethodPost {
		b.arrived[r.Header.Get("Idempotency-Key")]++
		if b.arrives != nil {
			arrives, b.arrives = b.arrives, nil
		}
	} else {
		b.asked++
		silent = b.silent
	}
	b.mu.Unlock()
	if silent {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	arrives()
	b.Handler().ServeHTTP(w, r)
}

func (b *bank) mute(silent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silent = silent
}

func (b *bank) count(key string) (arrived, asked int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.arrived[key], b.asked
}
