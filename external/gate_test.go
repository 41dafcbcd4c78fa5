package external

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/operation"
)

var errLate = errors.New("the lease is over")

// TestGateRefuses: not a byte of the request leaves, on a new connection and on a
// reused one, nor over another connection.
func TestGateRefuses(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		for _, body := range []string{"", "amount=5"} {
			for _, reused := range []bool{false, true} {
				s := newRawServer(t, secure, func(s *rawServer, conn net.Conn) {
					for r := bufio.NewReader(conn); s.request(r) == nil; {
						io.WriteString(conn, rawConfirmed)
					}
				})
				h, dials := rawHTTP(t, s, true, body, nil)
				var before int32
				if reused {
					before = 1
					if r := h.Submit(t.Context(), Submission{Key: "k-1"}); r.End != operation.Confirmed {
						t.Fatalf("%+v", r)
					}
				}
				asked := 0
				r := h.Submit(t.Context(), Submission{Key: "k-2", Gate: func() error { asked++; return errLate }})
				if r.End != operation.NotSent || !strings.Contains(r.Note, errLate.Error()) {
					t.Errorf("reused=%t: %+v, want not sent, for the gate's reason", reused, r)
				}
				h.Close()
				for range dials.Load() {
					<-s.ended // the provider has read to the end
				}
				if s.begun.Load() != before || asked != 1 {
					t.Errorf("reused=%t: %d requests begun, gate asked %d times; want %d, 1", reused, s.begun.Load(), asked, before)
				}
			}
		}
	}
}

// TestGateIsAskedLast: when it is asked the connection stands, and the first byte
// has not left.
func TestGateIsAskedLast(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		shaken := make(chan struct{})
		s := newRawServer(t, secure, func(s *rawServer, conn net.Conn) {
			if secure, ok := conn.(interface{ Handshake() error }); ok && secure.Handshake() != nil {
				return
			}
			close(shaken)
			if s.request(bufio.NewReader(conn)) == nil {
				io.WriteString(conn, rawConfirmed)
			}
		})
		h, _ := rawHTTP(t, s, false, "amount=5", nil)
		r := h.Submit(t.Context(), Submission{Key: "k", Gate: func() error {
			<-shaken
			if s.begun.Load() != 0 {
				t.Error("the gate was asked after the first byte")
			}
			return nil
		}})
		if r.End != operation.Confirmed || s.begun.Load() != 1 {
			t.Errorf("%+v, %d begun", r, s.begun.Load())
		}
	}
}

// TestGivenUpBeforeTheConnection: a dial that ends after its attempt carries none
// of it.
func TestGivenUpBeforeTheConnection(t *testing.T) {
	t.Parallel()
	s := newRawServer(t, false, func(s *rawServer, conn net.Conn) { s.request(bufio.NewReader(conn)) })
	h, _ := rawHTTP(t, s, false, "amount=5", nil)
	ctx, cancel := context.WithCancel(t.Context())
	slow, dial := make(chan struct{}), h.Dial
	h.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		cancel()
		<-slow
		return dial(context.WithoutCancel(ctx), network, addr)
	}
	r := h.Submit(ctx, Submission{Key: "k", Gate: func() error { t.Error("the gate was asked"); return nil }})
	if r.End != operation.NotSent {
		t.Errorf("%+v, want not sent", r)
	}
	close(slow)
	<-s.ended
	if s.begun.Load() != 0 {
		t.Error("the abandoned attempt reached the provider")
	}
}

// TestPassageStaysClosed: after its end, and for a second connection.
func TestPassageStaysClosed(t *testing.T) {
	t.Parallel()
	over := new(passage)
	if begun, _ := over.end(); begun {
		t.Error("nothing had begun")
	}
	if err := over.begin(); !errors.Is(err, errOver) {
		t.Errorf("begin after end = %v", err)
	}
	taken := new(passage)
	if err := taken.begin(); err != nil {
		t.Fatal(err)
	}
	if err := taken.begin(); !errors.Is(err, errSecond) {
		t.Errorf("a second begin = %v", err)
	}
	if begun, _ := taken.end(); !begun {
		t.Error("it had begun")
	}
	if _, err := (&gatedConn{}).Write([]byte("x")); !errors.Is(err, errNobody) {
		t.Errorf("a write for nobody = %v", err)
	}
}

// closeSignal tells when the connection is closed.
type closeSignal struct {
	net.Conn
	closed func()
}

func (c closeSignal) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// TestAnswerBeforeTheRequest is none, though the request was on its way: the
// connection is given up before the gate lets the first byte through.
func TestAnswerBeforeTheRequest(t *testing.T) {
	t.Parallel()
	asked, closed := make(chan struct{}), make(chan struct{})
	s := newRawServer(t, false, func(_ *rawServer, conn net.Conn) {
		<-asked
		io.WriteString(conn, rawConfirmed)
		io.Copy(io.Discard, conn)
	})
	tell := sync.OnceFunc(func() { close(closed) })
	h, _ := rawHTTP(t, s, false, "amount=5", func(c net.Conn) net.Conn { return closeSignal{c, tell} })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // of an answer that is taken
	defer cancel()
	r := h.Submit(ctx, Submission{Key: "k", Gate: func() error {
		close(asked)
		<-closed
		return nil
	}})
	if r.End != operation.Lost && r.End != operation.NotSent {
		t.Errorf("%+v, want neither confirmed nor refused", r)
	}
}

// TestHTTP2IsOff: a provider that offers it is spoken to over HTTP/1.1.
func TestHTTP2IsOff(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"id":"`+r.Proto+`"}`)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	h := &HTTP{
		Profile: StripeV1(),
		TLS:     server.Client().Transport.(*http.Transport).TLSClientConfig,
		Build: func(ctx context.Context, _ Submission) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, "", server.URL, nil)
		},
	}
	if r := h.Submit(t.Context(), Submission{Key: "k"}); r.Reference != "HTTP/1.1" {
		t.Errorf("%+v, want one over HTTP/1.1", r)
	}
}
