package refraintest

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"testing"
	"time"
)

// endpoint is one use of [Endpoint], and the client that asks.
type endpoint struct {
	EndpointConfig
	t         testing.TB
	url, addr string
	client    *http.Client

	row       string
	before    int  // effects when the row began
	status    int  // of the sample's answers, 0 until there is one
	unfit     bool // the configuration
	fruitless bool // a request that must have an effect had none
}

func (e *endpoint) errorf(format string, args ...any) {
	e.t.Helper()
	e.t.Errorf("refraintest: %s: %s", e.row, fmt.Sprintf(format, args...))
}

// answer is what a client can see.
type answer struct {
	status int
	header http.Header
	body   string
	length int64 // as framed, −1 where unknown
	err    error // no answer came
}

func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	text := fmt.Sprintf("%d %s", a.status, brief(a.body))
	if p := a.problem(); p != "" {
		text = fmt.Sprintf("%d %s", a.status, p)
	}
	return text
}

func (a answer) problem() string { return a.header.Get("Idempotency-Status") }
func (a answer) ref() string     { return a.header.Get("Idempotency-Ref") }

// ask is how a request differs from the sample.
type ask struct {
	keys       []string // lines of the key's field, as sent
	body       string
	credential http.Header
	chunked    bool
}

// sample is the configured request under a key.
func (e *endpoint) sample(key string) ask {
	return ask{keys: []string{`"` + key + `"`}, body: e.Body, credential: e.Credential}
}

func (e *endpoint) send(a ask) answer {
	r, err := e.request(a)
	if err != nil {
		return answer{err: err}
	}
	res, err := e.client.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(body), res.ContentLength, err}
}

func (e *endpoint) request(a ask) (*http.Request, error) {
	var body io.Reader = strings.NewReader(a.body)
	if a.chunked {
		body = io.MultiReader(body) // of unknown length
	}
	r, err := http.NewRequestWithContext(e.t.Context(), e.Method, e.url+e.Path, body)
	if err != nil {
		return nil, err
	}
	r.GetBody = nil // the client must not send it twice by itself
	for _, fields := range []http.Header{e.Header, a.credential} {
		for name, values := range fields {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if len(a.keys) > 0 {
		r.Header[http.CanonicalHeaderKey(e.KeyHeader)] = a.keys
	}
	return r, nil
}

func (e *endpoint) now() time.Time {
	if e.Clock != nil {
		return e.Clock.Now()
	}
	return time.Now()
}

// key is a new UUIDv7, which bears the time (RFC 9562 §5.7).
func (e *endpoint) key() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	ms := e.now().UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6] = 0x70 | b[6]&0x0f
	b[8] = 0x80 | b[8]&0x3f
	x := hex.EncodeToString(b[:])
	return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")
}

// untimed is a new key that bears no time.
func (e *endpoint) untimed() string { return "refraintest-" + rand.Text() }

// wantEffects demands n effects since the row began.
func (e *endpoint) wantEffects(n int) {
	e.t.Helper()
	if got := e.Effects() - e.before; got != n {
		e.errorf("%d effects, want %d", got, n)
	}
}

// first sends the sample under a key for the first time: it must have an effect.
func (e *endpoint) first(key string) (answer, bool) {
	e.t.Helper()
	return e.fresh("the first request", e.sample(key))
}

// fresh sends what must be executed. where names it in reports.
func (e *endpoint) fresh(where string, q ask) (answer, bool) {
	e.t.Helper()
	before := e.Effects()
	a := e.send(q)
	made := e.Effects() - before
	switch {
	case a.err != nil:
		e.errorf("%s got no answer: %v", where, a.err)
	case a.problem() != "":
		e.errorf("%s was refused: %v", where, a)
	case a.replayed(e) && made == 0:
		e.errorf("%s was taken for a repeat: %v", where, a)
	case a.replayed(e):
		e.errorf("%s had its effect, but its answer is marked as a replay", where)
	case made != 1:
		e.errorf("%s had %d effects, want 1: %v", where, made, a)
	default:
		e.status = a.status
		return a, true
	}
	e.fruitless = true
	return a, false
}

func (a answer) replayed(e *endpoint) bool { return a.header.Get(e.ReplayedHeader) != "" }

// wantReplay demands first again, to the byte.
func (e *endpoint) wantReplay(a, first answer) {
	e.t.Helper()
	switch {
	case a.err != nil:
		e.errorf("the repeat got no answer: %v", a.err)
	case a.status != first.status || a.problem() != "":
		e.errorf("the repeat was answered %v, want %v again", a, first)
	case a.body != first.body:
		e.errorf("the repeat's body is %s, the first one's %s", brief(a.body), brief(first.body))
	case a.header.Get(e.ReplayedHeader) != "true":
		e.errorf("the repeat's answer is not marked %s: true", e.ReplayedHeader)
	}
}

// wantProblem demands one of the guard's own answers, in the form of RFC 9457.
func (e *endpoint) wantProblem(a answer, status int, name string, q ask) {
	e.t.Helper()
	if a.err != nil {
		e.errorf("no answer, want %d %s: %v", status, name, a.err)
		return
	}
	if a.status != status || a.problem() != name {
		e.errorf("the answer is %v, want %d %s", a, status, name)
		return
	}
	var doc struct {
		Type      string
		Status    int
		Retryable *bool
	}
	media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || media != "application/problem+json" ||
		doc.Type == "" || doc.Status != status || doc.Retryable == nil {
		e.errorf("the answer to %s is no problem document: %s %s", name, media, brief(a.body))
		return
	}
	for _, key := range q.keys {
		if key = strings.Trim(key, `"`); key != "" && strings.Contains(a.body, key) {
			e.errorf("the problem document shows the key: %s", brief(a.body))
		}
	}
}

// reorderedJSON is the same JSON value, its members in another order and with
// other spaces; ok is false where body is no JSON.
func reorderedJSON(body string) (text string, ok bool) {
	var members map[string]json.RawMessage
	var out bytes.Buffer
	if err := json.Unmarshal([]byte(body), &members); err != nil || len(members) < 2 {
		err := json.Indent(&out, []byte(body), " ", "\t")
		return " " + out.String() + "\n", err == nil
	}
	d := json.NewDecoder(strings.NewReader(body))
	_, _ = d.Token() // the opening brace
	var turned []string
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return "", false
		}
		spelled, err := json.Marshal(name)
		if err != nil {
			return "", false
		}
		turned = append([]string{string(spelled) + " : " + string(value)}, turned...)
	}
	return "{ " + strings.Join(turned, " ,\n") + " }", true
}
