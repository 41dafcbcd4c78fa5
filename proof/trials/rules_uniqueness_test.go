package trials

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestRulesOfUniqueness(t *testing.T) {
	t.Parallel()
	t.Run("different keys are different actions", func(t *testing.T) {
		t.Parallel()
		s := open(t, newFile, guard, orders, create)
		a, b := s.post("a", order), s.post("b", order)
		wantFresh(t, a, 201)
		wantFresh(t, b, 201)
		s.wantEffects(2)
	})
	t.Run("another body is 422 with documentation, and the first request still replays", func(t *testing.T) {
		t.Parallel()
		s := open(t, newFile, guard, orders, create)
		first := s.post("k", order)
		for range 3 {
			a := s.post("k", other)
			doc := wantProblem(t, a, 422, "key-reused")
			wantDescribed(t, a, doc)
			if strings.Contains(a.body, first.body) || a.header.Get("Location") != "" {
				t.Errorf("the problem shows the first result: %v", a)
			}
			wantReplay(t, s.post("k", order), first)
		}
		s.wantEffects(1)
	})
	t.Run("another body while the first runs", func(t *testing.T) {
		t.Parallel()
		run := newGate()
		s := open(t, newFile, guard, orders, run.create)
		first := make(chan answer, 1)
		go func() { first <- s.post("k", order) }()
		<-run.inside
		wantProblem(t, s.post("k", other, "Prefer", "wait=0"), 409, "in-progress")
		close(run.goOn)
		wantFresh(t, <-first, 201)
		s.wantEffects(1)
	})
	t.Run("framing is no meaning", func(t *testing.T) {
		t.Parallel()
		s := open(t, newFile, guard, orders, create)
		w := s.dial()
		w.post("1.1", "Idempotency-Key: k")
		first := w.read()
		for _, size := range []int{1, 7, len(order)} {
			fmt.Fprint(w.conn, "POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\nTransfer-Encoding: chunked\r\n\r\n")
			for rest := order; rest != ""; {
				n := min(size, len(rest))
				fmt.Fprintf(w.conn, "%x\r\n%s\r\n", n, rest[:n])
				rest = rest[n:]
			}
			fmt.Fprint(w.conn, "0\r\n\r\n")
			wantReplay(t, w.read(), first)
		}
		s.wantEffects(1)
	})
	t.Run("a gzip coding is no meaning", func(t *testing.T) {
		t.Parallel()
		s := open(t, newFile, guard, orders, create)
		first := s.post("k", order)
		wantReplay(t, s.post("k", packed(order), "Content-Encoding", "gzip"), first)
		wantProblem(t, s.post("k", packed(other), "Content-Encoding", "gzip"), 422, "key-reused")
		s.wantEffects(1)
	})
	t.Run("another operation never shows this one's result", func(t *testing.T) {
		t.Parallel()
		s := open(t, newFile, guard, orders, create, "/carts")
		first := s.post("k", order)
		for _, to := range [][2]string{{"POST", "/carts"}, {"PATCH", "/orders"}, {"PATCH", "/carts"}} {
			a := s.send(to[0], to[1], "k", order)
			wantProblem(t, a, 422, "key-reused")
			if strings.Contains(a.body, first.body) {
				t.Errorf("%v: %v", to, a)
			}
		}
		s.wantEffects(1)
	})
	t.Run("another principal learns nothing", func(t *testing.T) {
		t.Parallel()
		run := newGate()
		gated := true
		s := open(t, newFile, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
			if gated {
				return run.create(w, r, put)
			}
			return create(w, r, put)
		})
		gated = false
		mine := s.post("done", order)
		wantFresh(t, s.post("done", order, "Authorization", "south"), 201)
		wantFresh(t, s.post("done", other, "Authorization", "west"), 201) // not even a 422
		ref := mine.header.Get("Idempotency-Ref")
		foreign := s.send("GET", "/v1/operations/"+ref, "", "", "Authorization", "east")
		unknown := s.send("GET", "/v1/operations?operation=orders.create", "done", "", "Authorization", "east")
		if foreign.status != 404 || unknown.status != 404 || strings.Contains(foreign.body, ref) {
			t.Errorf("status = %v, %v", foreign, unknown)
		}
		s.wantEffects(3)
	})
	t.Run("a replay is authorised like the first", func(t *testing.T) {
		t.Parallel()
		s := open(t, newFile, guard, orders, create)
		first := s.post("k", order)
		for who, want := range map[string]struct {
			status  int
			problem string
		}{"revoked": {401, "principal-missing"}, "guest": {403, "forbidden"}} {
			a := s.post("k", order, "Authorization", who)
			wantProblem(t, a, want.status, want.problem)
			if strings.Contains(a.body, first.body) || want.status == 401 && a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s = %v %v", who, a, a.header)
			}
		}
		wantReplay(t, s.post("k", order), first)
		s.wantEffects(1)
	})
}

func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

// wantDescribed demands a link from the problem to its documentation.
func wantDescribed(t *testing.T, a answer, doc map[string]any) {
	t.Helper()
	for _, link := range a.header["Link"] {
		if link == fmt.Sprintf(`<%v>; rel="describedby"`, doc["type"]) {
			return
		}
	}
	t.Errorf("no describedby in %q", a.header["Link"])
}
