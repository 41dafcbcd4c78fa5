package refrainhttp_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

func TestReplayKeepsFields(t *testing.T) {
	t.Parallel()
	s := open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		h := w.Header()
		h["Link"] = []string{`</b>; rel="next"`, `</a>; rel="prev"`}
		h["Vary"] = []string{"Accept", "Accept-Language"}
		h["Etag"] = []string{`"v1"`}
		h["Content-Type"] = []string{"application/json; charset=utf-8"}
		h["X-Empty"] = []string{""}
		h["x-mIxEd"] = []string{"1", "2"}
		h["Cache-Control"] = []string{"private"}
		h["Content-Language"] = []string{"de"}
		return place(w, r, tx)
	})
	first := s.post(secretKey)
	body := text(t, first)
	again := s.post(secretKey)
	wantReplay(t, again, 201, body)
	for _, h := range []http.Header{first.Header, again.Header} {
		h.Del("Date")
		h.Del("Idempotent-Replayed")
	}
	if !reflect.DeepEqual(first.Header, again.Header) {
		t.Errorf("first  %v\nreplay %v", first.Header, again.Header)
	}
	for name, want := range map[string][]string{
		"Link": {`</b>; rel="next"`, `</a>; rel="prev"`}, "Vary": {"Accept", "Accept-Language"}, "X-Empty": {""},
		"x-mIxEd": {"1", "2"}, "Cache-Control": {"private"}, "Content-Length": {strconv.Itoa(len(body))},
	} {
		if got := again.Header[name]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

// TestReplayDropsFields: what belongs to one exchange is in the first answer,
// and in no other; what only the guard may say a handler cannot.
func TestReplayDropsFields(t *testing.T) {
	t.Parallel()
	once := []string{
		"Connection", "X-Foo", "Keep-Alive", "Proxy-Connection", "Upgrade", "Proxy-Authenticate", "Proxy-Authentication-Info",
		"Set-Cookie", "Age", "WWW-Authenticate", "Authentication-Info", "Traceparent", "Tracestate", "X-Request-Id", "Server-Timing",
		"RateLimit-Remaining", "RateLimit", "X-RateLimit-Limit", "Retry-After", "Access-Control-Allow-Origin", "X-B3-Traceid",
	}
	never := []string{
		"Idempotency-Status", "Idempotency-Observed", "Idempotent-Replayed", "Te", "Trailer", "Trailer:X-Sum", "Transfer-Encoding",
	}
	s := open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		for _, name := range append(once, never...) {
			w.Header()[http.CanonicalHeaderKey(name)] = []string{"7"}
		}
		w.Header().Set("Connection", "close, X-Foo")
		w.Header().Set("Idempotency-Ref", "forged")
		w.Header().Set("Date", "Mon, 01 Jan 2001 00:00:00 GMT")
		return place(w, r, tx)
	})
	first, again := s.post(secretKey), s.post(secretKey)
	for _, name := range once {
		if first.Header.Get(name) == "" {
			t.Errorf("the first answer lost %s", name)
		}
		if again.Header.Get(name) != "" {
			t.Errorf("a replay has %s: %s", name, again.Header.Get(name))
		}
	}
	for _, name := range never {
		if name != "Idempotent-Replayed" && again.Header[http.CanonicalHeaderKey(name)] != nil || first.Header[http.CanonicalHeaderKey(name)] != nil {
			t.Errorf("an answer has the handler's %s", name)
		}
	}
	if ref := first.Header.Get("Idempotency-Ref"); ref == "forged" || ref != again.Header.Get("Idempotency-Ref") {
		t.Errorf("ref = %q", ref)
	}
	if again.Header.Get("Date") != "Sat, 14 Mar 2026 12:00:00 GMT" {
		t.Errorf("Date = %q", again.Header.Get("Date"))
	}
}

// TestLayersAround: what stands around the guard adds its own fields, fresh.
func TestLayersAround(t *testing.T) {
	t.Parallel()
	s := open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		w.Header().Set("Vary", "Accept")
		w.Header().Set("X-Layer", "handler")
		return place(w, r, tx)
	})
	n := 0
	for _, origin := range []string{"https://a.example", "https://b.example"} {
		n++
		w := httptest.NewRecorder()
		w.Header().Set("Vary", "Origin")
		w.Header().Set("X-Layer", "outer")
		w.Header().Set("X-Request-Id", strconv.Itoa(n))
		w.Header().Set("Access-Control-Allow-Origin", origin)
		s.http.ServeHTTP(w, request(secretKey, smallOrder))
		h := w.Header()
		if !reflect.DeepEqual(h["Vary"], []string{"Origin", "Accept"}) || h.Get("X-Layer") != "handler" ||
			h.Get("X-Request-Id") != strconv.Itoa(n) || h.Get("Access-Control-Allow-Origin") != origin {
			t.Errorf("header = %v", h)
		}
	}
}

func TestMediaTypeIsGuessedOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set  func(h http.Header)
		want []string
	}{
		"guessed": {func(http.Header) {}, []string{"text/html; charset=utf-8"}},
		"none":    {func(h http.Header) { h["Content-Type"] = nil }, nil},
		"coded":   {func(h http.Header) { h.Set("Content-Encoding", "br") }, nil},
	} {
		s := open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
			tt.set(w.Header())
			return answer(200, "<!DOCTYPE html><p>done", put)(w, r, tx)
		})
		for range 2 {
			if got := s.post(secretKey).Header["Content-Type"]; len(got) != len(tt.want) || len(got) > 0 && got[0] != tt.want[0] {
				t.Errorf("%s: Content-Type = %q, want %q", name, got, tt.want)
			}
		}
	}
}

func TestStoredCoding(t *testing.T) {
	t.Parallel()
	plain := bytes.Repeat([]byte(`{"order":17}`), 100)
	pack := func(open func(io.Writer) io.WriteCloser) []byte {
		var buf bytes.Buffer
		w := open(&buf)
		_, _ = w.Write(plain)
		_ = w.Close()
		return buf.Bytes()
	}
	coded := map[string][]byte{
		"gzip":    pack(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		"deflate": pack(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
		"br":      []byte("opaque"),
	}
	tests := []struct {
		coding, accept string
		decoded        bool
	}{
		{"gzip", "gzip", false}, {"gzip", "", false}, {"gzip", "x-gzip;q=0.5, identity", false}, {"gzip", "*", false},
		{"gzip", "identity", true}, {"gzip", "gzip;q=0", true}, {"gzip", "br, *;q=0", true}, {"gzip", "deflate", true},
		{"deflate", "gzip", true}, {"deflate", "deflate", false}, {"br", "gzip", false},
	}
	for _, tt := range tests {
		s := open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
			w.Header().Set("Content-Encoding", tt.coding)
			w.Header().Set("Content-Digest", "sha-256=:x:")
			w.Header().Set("Etag", `"v1"`)
			w.Header().Set("Content-Type", "application/json")
			_, err := w.Write(coded[tt.coding])
			return err
		})
		s.post(secretKey, "Accept-Encoding", "gzip, deflate, br")
		r := request(secretKey, smallOrder)
		if tt.accept != "" {
			r.Header.Set("Accept-Encoding", tt.accept)
		}
		res := s.do(r)
		want, wantCoding, wantTag, wantDigest := coded[tt.coding], tt.coding, `"v1"`, "sha-256=:x:"
		if tt.decoded {
			want, wantCoding, wantTag, wantDigest = plain, "", `W/"v1"`, ""
		}
		if got := text(t, res); got != string(want) || res.Header.Get("Content-Encoding") != wantCoding ||
			res.Header.Get("Etag") != wantTag || res.Header.Get("Content-Digest") != wantDigest {
			t.Errorf("%s for %q = %d bytes %v", tt.coding, tt.accept, len(got), res.Header)
		}
		if length := res.Header.Get("Content-Length"); tt.decoded != (length == "") {
			t.Errorf("%s for %q: Content-Length %q", tt.coding, tt.accept, length)
		}
	}
}

// TestAnswerSizes: the first client gets all of it, and no size runs twice.
func TestAnswerSizes(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	const limit = 65535
	for _, size := range []int{0, limit - 1, limit, limit + 1, 1 << 20, 17 << 20} {
		for _, digest := range []bool{false, true} {
			c := orders
			c.MaxResponse, c.KeepDigest = limit, digest
			written := 0
			s := open(t, c, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				if err := put(r, tx); err != nil {
					return err
				}
				chunk := bytes.Repeat([]byte{'x'}, 32<<10)
				for written = 0; written < size; {
					n, err := w.Write(chunk[:min(len(chunk), size-written)])
					written += n
					if err != nil {
						return err
					}
				}
				return nil
			})
			first := s.post(secretKey)
			switch {
			case size > limit && !digest:
				wantProblem(t, first, 500, "response-too-large")
				if s.wantEffects(0); written > limit {
					t.Errorf("%d bytes were buffered over a limit of %d", written, limit)
				}
				continue
			case len(text(t, first)) != size || first.StatusCode != 200:
				t.Errorf("size %d: first = %d", size, first.StatusCode)
			case size > 0 && first.Header.Get("Content-Type") != "text/plain; charset=utf-8":
				t.Errorf("size %d: Content-Type = %q", size, first.Header.Get("Content-Type"))
			}
			again := s.post(secretKey)
			if size > limit {
				wantProblem(t, again, 410, "result-gone")
			} else if got := text(t, again); len(got) != size || again.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("size %d: replay = %d, %d bytes", size, again.StatusCode, len(got))
			}
			s.wantEffects(1)
		}
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func TestKeepDigestIsTheBodysDigest(t *testing.T) {
	t.Parallel()
	c := orders
	c.MaxResponse, c.KeepDigest = 4, true
	s := open(t, c, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		_, _ = io.WriteString(w, "he")
		_, err := io.WriteString(w, "llo, digest")
		return err
	})
	if got := text(t, s.post(secretKey)); got != "hello, digest" {
		t.Errorf("the first client got %q", got)
	}
	seen, _, err := s.db.Load(t.Context(), identity(secretKey))
	if err != nil {
		t.Fatal(err)
	}
	want := sha256.Sum256([]byte("hello, digest"))
	if !bytes.Equal(seen.Record.Result.Digest, want[:]) || len(seen.Record.Result.Body) != 0 {
		t.Errorf("result = %x, %d bytes", seen.Record.Result.Digest, len(seen.Record.Result.Body))
	}
}

// foreign replays a result that this guard did not make.
type foreign struct{ result refrain.Result }

func (f foreign) Execute(context.Context, refrain.Call, func(context.Context, memstore.Tx) (refrain.Result, error)) (refrain.Outcome, error) {
	return refrain.Outcome{State: record.Confirmed, Replayed: true, Ref: "op_1", Result: f.result}, nil
}

func TestLibraryResultIsNotReplayed(t *testing.T) {
	t.Parallel()
	library := foreign{refrain.Result{Body: []byte("{}")}}
	s := &shop{t: t, http: refrainhttp.Handle(guard, library, orders, place)}
	wantProblem(t, s.post(secretKey), 500, "record-unreadable")
}

// TestReplayTrustsNoRecord: what must not be replayed is not, whoever stored it.
func TestReplayTrustsNoRecord(t *testing.T) {
	t.Parallel()
	other := foreign{refrain.Result{Status: 201, Body: []byte("x"), Header: [][2]string{
		{"Set-Cookie", "a=1"}, {"Idempotency-Status", "key-reused"}, {"Content-Length", "99"}, {"X-Kept", "yes"},
	}}}
	s := &shop{t: t, http: refrainhttp.Handle(guard, other, orders, place)}
	res := s.post(secretKey)
	if res.Header["Set-Cookie"] != nil || res.Header.Get("Content-Length") != "1" || res.Header.Get("X-Kept") != "yes" {
		t.Errorf("header = %v", res.Header)
	}
	wantReplay(t, res, 201, "x")
}
