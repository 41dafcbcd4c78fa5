package external

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/refrain-dev/refrain/operation"
)

// dyingConn stops taking bytes when told so: left bytes of the next write still go.
type dyingConn struct {
	net.Conn
	left *atomic.Int64 // negative: alive
}

func (c dyingConn) Write(b []byte) (int, error) {
	left := c.left.Load()
	if left < 0 {
		return c.Conn.Write(b)
	}
	n, _ := c.Conn.Write(b[:min(int(left), len(b))])
	return n, syscall.EPIPE
}

// phase is where the provider's end of a reused connection dies under the second
// request.
type phase struct {
	name   string
	left   int64 // bytes of the second request that still leave; -1: all of them
	answer string
	reset  bool
	begun  int32 // second requests the provider sees the first byte of
	naked  int32 // the same with a transport of net/http alone
}

var phases = []phase{
	{name: "before the write", left: 0, begun: 0, naked: 1},
	{name: "in the write", left: 20, begun: 1, naked: 1},
	{name: "before the answer", left: -1, begun: 1, naked: 2},
	{name: "before the answer, by reset", left: -1, reset: true, begun: 1, naked: 2},
	{name: "in the answer's header", left: -1, answer: rawConfirmed[:20], begun: 1},
	{name: "in the answer's body", left: -1, answer: rawConfirmed[:len(rawConfirmed)-3], begun: 1},
}

// dying serves one request, and lets the connection die under the second. A third
// one is served well: it would be a repeat.
func (p phase) dying(seconds *atomic.Int32) func(*rawServer, net.Conn) {
	return func(s *rawServer, conn net.Conn) {
		r := bufio.NewReader(conn)
		for s.request(r) == nil {
			if seconds.Add(1) != 2 {
				io.WriteString(conn, rawConfirmed)
				continue
			}
			io.WriteString(conn, p.answer)
			if tcp, ok := conn.(*net.TCPConn); ok && p.reset {
				tcp.SetLinger(0)
			}
			return
		}
	}
}

// TestOneFirstBytePerSubmit: whenever a reused connection dies, the transport's own
// repeats reach the provider never, with the key in the very header that invites
// them, with and without a body, in the clear and under TLS.
func TestOneFirstBytePerSubmit(t *testing.T) {
	t.Parallel()
	for _, p := range phases {
		for _, secure := range []bool{false, true} {
			for _, body := range []string{"", "amount=5", strings.Repeat("long=1&", 4000)} {
				want := p.begun
				if secure && p.left > 0 {
					want = 0 // a part of a TLS record tells the provider nothing
				}
				t.Run(fmt.Sprintf("%s/tls=%t/body=%d", p.name, secure, len(body)), func(t *testing.T) {
					t.Parallel()
					seconds, left := new(atomic.Int32), new(atomic.Int64)
					left.Store(-1)
					s := newRawServer(t, secure, p.dying(seconds))
					h, dials := rawHTTP(t, s, true, body, func(c net.Conn) net.Conn { return dyingConn{c, left} })
					first := h.Submit(t.Context(), Submission{Key: "k-1", Attempt: 1})
					if first.End != operation.Confirmed {
						t.Fatalf("first = %+v", first)
					}
					left.Store(p.left)
					second := h.Submit(t.Context(), Submission{Key: "k-2", Attempt: 1})
					if second.End != operation.Lost {
						t.Errorf("second = %+v, want lost", second)
					}
					h.Close()
					for range dials.Load() {
						<-s.ended
					}
					if got := s.begun.Load() - 1; got != want {
						t.Errorf("the provider saw %d first bytes of the second request, want %d", got, want)
					}
					if dials.Load() != 1 && body != "" { // without a body the transport tries, and the passage stops it
						t.Errorf("%d connections, want the reused one alone", dials.Load())
					}
				})
			}
		}
	}
}

// TestPassageStopsRepeats holds the second belt alone: a request the transport
// considers safe to repeat, as it is when a new Go version considers more so.
func TestPassageStopsRepeats(t *testing.T) {
	t.Parallel()
	for _, p := range phases[:4] {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, gated := range []bool{false, true} {
				seconds, left := new(atomic.Int32), new(atomic.Int64)
				left.Store(-1)
				s := newRawServer(t, false, p.dying(seconds))
				die := func(c net.Conn) net.Conn {
					if seconds.Load() > 0 {
						return c // the transport's own second connection is sound
					}
					return dyingConn{c, left}
				}
				h, _ := rawHTTP(t, s, true, "", die)
				naked := &http.Transport{DialContext: h.Dial}
				t.Cleanup(naked.CloseIdleConnections)
				send := func() error {
					r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader("amount=5"))
					if err != nil {
						t.Fatal(err)
					}
					r.Header.Set("Idempotency-Key", "k")
					if gated {
						_, _, err = h.exchange(t.Context(), r, nil)
						return err
					}
					response, err := naked.RoundTrip(r)
					if err == nil {
						io.Copy(io.Discard, response.Body)
						response.Body.Close()
					}
					return err
				}
				if err := send(); err != nil {
					t.Fatal(err)
				}
				left.Store(p.left)
				want := p.naked
				if err := send(); gated {
					want = p.begun
					if err == nil {
						t.Error("no error, though the answer was lost")
					}
				}
				<-s.ended
				if got := s.begun.Load() - 1; got != want {
					t.Errorf("gated=%t: the provider saw %d first bytes of the second request, want %d", gated, got, want)
				}
			}
		})
	}
}

// TestSubmissionsShareConnections: attempts that go well reuse a connection, each
// through its own gate; without KeepAlive each has its own.
func TestSubmissionsShareConnections(t *testing.T) {
	t.Parallel()
	for keepAlive, want := range map[bool]int32{true: 1, false: 3} {
		s := newRawServer(t, true, func(s *rawServer, conn net.Conn) {
			for r := bufio.NewReader(conn); s.request(r) == nil; {
				io.WriteString(conn, rawConfirmed)
			}
		})
		h, dials := rawHTTP(t, s, keepAlive, "amount=5", nil)
		asked := 0
		for range 3 {
			r := h.Submit(t.Context(), Submission{Key: "k", Gate: func() error { asked++; return nil }})
			if r.End != operation.Confirmed || r.Reference != "ch_1" {
				t.Fatalf("%+v", r)
			}
		}
		if asked != 3 || dials.Load() != want {
			t.Errorf("KeepAlive=%t: gate asked %d times, %d connections; want 3, %d", keepAlive, asked, dials.Load(), want)
		}
	}
}
