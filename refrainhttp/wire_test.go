package refrainhttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/memstore"
)

// serve puts the shop on a real server.
func (s *shop) serve() *httptest.Server {
	srv := httptest.NewUnstartedServer(s.http)
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = discard
	srv.Start()
	s.t.Cleanup(srv.Close)
	return srv
}

// dial opens a connection for requests written by hand.
func dial(t *testing.T, srv *httptest.Server) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, bufio.NewReader(conn)
}

func read(t *testing.T, from *bufio.Reader) *http.Response {
	t.Helper()
	res, err := http.ReadResponse(from, &http.Request{Method: "POST"})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// raw writes a request with the small order.
func raw(conn net.Conn, version, key string) {
	fmt.Fprintf(conn, "POST /orders HTTP/%s\r\nHost: shop\r\nConnection: keep-alive\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		version, key, len(smallOrder), smallOrder)
}

// chunky answers in several writes with fields that belong to one connection.
func chunky(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
	w.Header().Set("Connection", "X-Foo")
	w.Header().Set("X-Foo", "1")
	w.Header().Set("Keep-Alive", "timeout=5")
	w.Header().Set("Transfer-Encoding", "chunked")
	w.WriteHeader(201)
	for range 100 {
		_, _ = io.WriteString(w, strings.Repeat("y", 100))
	}
	return put(r, tx)
}

func TestFraming(t *testing.T) {
	t.Parallel()
	s := open(t, orders, chunky)
	srv := s.serve()
	conn, from := dial(t, srv)
	for i := range 4 { // one connection: the second request on it must work
		raw(conn, "1.1", secretKey)
		res := read(t, from)
		body := text(t, res)
		if res.StatusCode != 201 || res.ContentLength != 10000 || len(body) != 10000 || res.TransferEncoding != nil {
			t.Fatalf("answer %d = %d, length %d, %v", i, res.StatusCode, res.ContentLength, res.Header)
		}
		if i > 0 && (res.Header.Get("X-Foo") != "" || res.Header.Get("Connection") != "" || res.Header.Get("Keep-Alive") != "") {
			t.Errorf("a replay has hop-by-hop fields: %v", res.Header)
		}
	}
	conn, from = dial(t, srv)
	raw(conn, "1.0", secretKey)
	if res := read(t, from); res.ContentLength != 10000 || len(text(t, res)) != 10000 {
		t.Errorf("HTTP/1.0 = %d %v", res.StatusCode, res.Header)
	}
	s.wantEffects(1)
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	s := open(t, orders, chunky)
	srv := httptest.NewUnstartedServer(s.http)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	for i := range 3 {
		r, _ := http.NewRequest("POST", srv.URL+"/orders", io.NopCloser(strings.NewReader(smallOrder)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", `"`+secretKey+`"`)
		res, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body := text(t, res)
		if res.ProtoMajor != 2 || res.StatusCode != 201 || len(body) != 10000 || res.ContentLength != 10000 ||
			i > 0 != (res.Header.Get("Idempotent-Replayed") == "true") {
			t.Errorf("answer %d = %s %d, %d bytes, %v", i, res.Proto, res.StatusCode, len(body), res.Header)
		}
	}
	s.wantEffects(1)
}

// TestFramingIsNotMeaning: chunked or not, the same request.
func TestFramingIsNotMeaning(t *testing.T) {
	t.Parallel()
	s := open(t, orders, place)
	conn, from := dial(t, s.serve())
	raw(conn, "1.1", secretKey)
	body := text(t, read(t, from))
	fmt.Fprintf(conn, "POST /orders HTTP/1.1\r\nHost: other\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
		secretKey, len(smallOrder), smallOrder)
	wantReplay(t, read(t, from), 201, body)
}

func TestTruncatedBody(t *testing.T) {
	t.Parallel()
	s := open(t, orders, place)
	conn, from := dial(t, s.serve())
	fmt.Fprintf(conn, "POST /orders HTTP/1.1\r\nHost: shop\r\nIdempotency-Key: %s\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", secretKey)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, read(t, from), 400, "body-not-canonical")
	s.wantEffects(0)
	if res := s.post(secretKey); res.StatusCode != 201 {
		t.Errorf("the whole request after that = %d", res.StatusCode)
	}
}

func TestBodySizes(t *testing.T) {
	t.Parallel()
	c := orders
	c.MaxBody = 1 << 20
	handle := func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, err = fmt.Fprint(w, len(body), r.ContentLength)
		}
		return err
	}
	tests := []struct {
		size, status int
		limit        int64
	}{
		{1 << 20, 200, 1 << 20}, {1<<20 + 1, 413, 1 << 20}, {8 << 20, 413, 1 << 20}, {8 << 20, 200, 8 << 20}, {0, 200, -1}, {1, 413, -1},
	}
	for _, tt := range tests {
		c.MaxBody = tt.limit
		s := open(t, c, handle)
		for _, declared := range []bool{true, false} {
			var body io.Reader = strings.NewReader(strings.Repeat("b", tt.size))
			if !declared {
				body = io.NopCloser(body)
			}
			r := httptest.NewRequest("POST", "/orders", body)
			r.Header.Set("Idempotency-Key", fmt.Sprint(declared))
			res := s.do(r)
			switch {
			case tt.status == 413:
				wantProblem(t, res, 413, "body-too-large")
			case res.StatusCode != 200 || text(t, res) != fmt.Sprint(tt.size, tt.size):
				t.Errorf("%+v declared %t = %d", tt, declared, res.StatusCode)
			}
		}
	}
}

// TestLayerAllowsLess: http.MaxBytesReader around the guard.
func TestLayerAllowsLess(t *testing.T) {
	t.Parallel()
	s := open(t, orders, place)
	inner := s.http
	s.http = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 4)
		inner.ServeHTTP(w, r)
	})
	wantProblem(t, s.post(secretKey), 413, "body-too-large")
}

// TestExpectContinue: who is refused on the header is never asked for the body,
// everybody else once.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	c := orders
	c.MaxBody = size
	s := open(t, c, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error { return put(r, tx) })
	srv := s.serve()
	tests := []struct {
		name, key, who string
		fill           string
		declared       int
		continues      bool
		status         int
	}{
		{"fresh", "k", "north", "a", size, true, 200},
		{"replay", "k", "north", "a", size, true, 200},
		{"mismatch", "k", "north", "b", size, true, 422},
		{"bad key", `"k`, "north", "a", size, false, 400},
		{"no principal", "k", "nobody", "a", size, false, 401},
		{"declared too large", "l", "north", "a", size + 1, false, 413},
	}
	for _, tt := range tests {
		conn, from := dial(t, srv)
		fmt.Fprintf(conn, "POST /orders HTTP/1.1\r\nHost: shop\r\nAuthorization: %s\r\nIdempotency-Key: %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
			tt.who, tt.key, tt.declared)
		res := read(t, from)
		continued := res.StatusCode == 100
		if continued {
			if _, err := io.WriteString(conn, strings.Repeat(tt.fill, tt.declared)); err != nil {
				t.Fatal(err)
			}
			res = read(t, from)
		}
		if continued != tt.continues || res.StatusCode != tt.status {
			t.Errorf("%s: continue %t, %d; want %t, %d", tt.name, continued, res.StatusCode, tt.continues, tt.status)
		}
	}
	s.wantEffects(1)

	conn, from := dial(t, srv) // a client that never sends its body
	fmt.Fprintf(conn, "POST /orders HTTP/1.1\r\nHost: shop\r\nIdempotency-Key: never\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n")
	if res := read(t, from); res.StatusCode != 100 {
		t.Errorf("answer = %d", res.StatusCode)
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	wantProblem(t, read(t, from), 400, "body-not-canonical")
	s.wantEffects(1)
}
