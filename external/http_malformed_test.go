package external_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
)

// TestAnswersThatAreNone: what is no answer is lost, in time, and its note does
// not quote it: it may repeat the key.
func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"another protocol":   "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: key-1\r\n\r\n",
		"no HTTP":            "key-1\r\n\r\n",
		"a malformed status": "HTTP/1.1 key-1\r\n\r\n",
		"a malformed header": "HTTP/1.1 200 OK\r\nkey-1\r\n\r\n",
		"a malformed length": "HTTP/1.1 200 OK\r\nContent-Length: key-1\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				in := bufio.NewReader(conn)
				if _, err := http.ReadRequest(in); err == nil {
					_, _ = conn.Write([]byte(answer))
				}
				_, _ = in.WriteTo(io.Discard) // until the client hangs up
				_ = conn.Close()
			}()
			h := &external.HTTP{Profile: external.Keyed("Idempotency-Key", time.Hour), Timeout: 10 * time.Second, Build: func(ctx context.Context, _ external.Submission) (*http.Request, error) {
				return http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.Addr().String(), nil)
			}}
			replied := make(chan operation.Reply, 1)
			go func() { replied <- h.Submit(context.Background(), external.Submission{Key: "key-1"}) }()
			select {
			case r := <-replied:
				if r.End != operation.Lost || strings.Contains(r.Note, "key-1") {
					t.Errorf("%s, %q", r.End, r.Note)
				}
			case <-time.After(20 * time.Second):
				t.Error("Submit outlives its Timeout")
			}
		})
	}
}
