package trials

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestUploadThatWaitsForContinue: who is refused on the header is never asked
// for the body; everybody else once.
func TestUploadThatWaitsForContinue(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		const size = 2 << 20
		c := orders
		c.MaxBody = size
		s := open(t, newEngine, guard, c, create)
		for _, tt := range []struct {
			name, key, who, fill string
			declared             int
			asked                bool
			status               int
		}{
			{"fresh", "k", "north", "a", size, true, 201},
			{"replay", "k", "north", "a", size, true, 201},
			{"mismatch", "k", "north", "b", size, true, 422},
			{"malformed key", `"k`, "north", "a", size, false, 400},
			{"no key", "", "north", "a", size, false, 400},
			{"no principal", "k", "revoked", "a", size, false, 401},
			{"not allowed", "k", "guest", "a", size, false, 403},
			{"too large", "k", "north", "a", size + 1, false, 413},
		} {
			w := s.dial()
			key := ""
			if tt.key != "" {
				key = "Idempotency-Key: " + tt.key + "\r\n"
			}
			fmt.Fprintf(w.conn, "POST /orders HTTP/1.1\r\nHost: shop\r\nAuthorization: %s\r\n%sExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", tt.who, key, tt.declared)
			a := w.read()
			asked := a.status == http.StatusContinue
			if asked {
				if _, err := io.WriteString(w.conn, strings.Repeat(tt.fill, tt.declared)); err != nil {
					t.Fatal(err)
				}
				a = w.read()
			}
			if asked != tt.asked || a.status != tt.status {
				t.Errorf("%s: asked for the body %t, answer %v", tt.name, asked, a)
			}
		}
		s.wantEffects(1)
		if log := s.log.String(); log != "" {
			t.Errorf("the server logged %s", log)
		}
	})
}

// TestUploadThatNeverComes: the server's read timeout ends the request; nothing
// was executed and the key is free.
func TestUploadThatNeverComes(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		s := open(t, newEngine, guard, orders, create)
		srv := httptest.NewUnstartedServer(s.store.guarded(guard, orders, create))
		srv.Config.ReadTimeout = 50 * time.Millisecond
		srv.Start()
		patient := s.addr
		s.addr = srv.Listener.Addr().String()
		w := s.dial()
		fmt.Fprint(w.conn, "POST /orders HTTP/1.1\r\nHost: shop\r\nIdempotency-Key: k\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n")
		if a := w.read(); a.status != http.StatusContinue {
			t.Errorf("answer = %v", a)
		}
		wantProblem(t, w.read(), 400, "body-not-canonical")
		if n, err := w.from.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Error("the connection goes on")
		}
		srv.Close() // returns once no request is under way
		s.wantEffects(0)
		s.addr = patient
		wantFresh(t, s.post("k", order), 201)
	})
}

// TestTruncatedRequest: a body that ends early is not executed and does not
// spoil the key.
func TestTruncatedRequest(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		s := open(t, newEngine, guard, orders, create)
		for _, start := range []string{"Content-Length: 24\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"sk"} {
			w := s.dial()
			fmt.Fprint(w.conn, "POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\n"+start)
			if err := w.conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			wantProblem(t, w.read(), 400, "body-not-canonical")
			s.wantEffects(0)
		}
		wantFresh(t, s.post("k", order), 201)
		s.wantEffects(1)
	})
}

// TestMethods: preflight and safe methods need no key and leave no record,
// with the route mounted as documented or without a method; other methods are
// guarded where the contract lists them.
func TestMethods(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		price := 1
		show := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, price) }
		s := open(t, newEngine, guard, orders, create)
		s.mount(func() http.Handler {
			mux := http.NewServeMux()
			guarded := s.store.guarded(guard, orders, create)
			mux.Handle("POST /orders", guarded)
			mux.HandleFunc("GET /orders", show)
			mux.Handle("/bare", guarded)
			return mux
		}())
		for _, method := range []string{"GET", "HEAD"} { // a change in between is seen
			for _, price = range []int{1, 2} {
				if a := s.send(method, "/orders", "k", ""); a.status != 200 || method == "GET" && a.body != fmt.Sprint(price) || a.replayed() {
					t.Errorf("%s = %v", method, a)
				}
			}
		}
		preflight := s.send("OPTIONS", "/bare", "", "", "Origin", "https://a.example", "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "idempotency-key", "Authorization", "revoked")
		if preflight.status != 204 || preflight.problem() != "" || preflight.header.Get("Allow") != "OPTIONS, PATCH, POST" {
			t.Errorf("OPTIONS = %v %v", preflight, preflight.header)
		}
		for _, method := range []string{"GET", "HEAD", "PUT", "DELETE"} {
			if a := s.send(method, "/bare", "k", order); a.status != 405 || a.header.Get("Allow") == "" {
				t.Errorf("%s = %v", method, a)
			}
		}
		s.wantEffects(0)
		wantFresh(t, s.send("POST", "/orders", "k", order), 201) // nobody has used the key
		wantFresh(t, s.send("PATCH", "/bare", "l", order), 201)
		s.wantEffects(2)

		c := orders
		c.Operation, c.Methods = "orders.put", []string{"PUT", "DELETE"}
		all := serve(t, s.store, s.clock, guard, c, create)
		for n, method := range c.Methods {
			first := all.send(method, "/orders", method, order)
			wantFresh(t, first, 201)
			wantReplay(t, all.send(method, "/orders", method, order), first)
			s.wantEffects(3 + n)
		}
		if a := all.send("POST", "/orders", "k", order); a.status != 405 {
			t.Errorf("POST = %v", a)
		}
		wantFresh(t, serve(t, s.store, s.clock, guard, c, create).send("PUT", "/orders", "m", order), 201)
	})
}
