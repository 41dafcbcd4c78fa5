package refraintest

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// crowd is how many duplicates come at once.
const crowd = 20

func (e *endpoint) replay() {
	key := e.key()
	if first, ok := e.first(key); ok {
		e.wantReplay(e.send(e.sample(key)), first)
		e.wantEffects(1)
	}
}

// exchangeOnly are fields of one exchange, hop, credential or trace, which no
// replay repeats.
var exchangeOnly = []string{
	"Set-Cookie", "Connection", "Keep-Alive", "Upgrade", "Te", "Trailer", "Transfer-Encoding",
	"Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Connection", "Age", "Www-Authenticate", "Authentication-Info",
	"Traceparent", "Tracestate", "Server-Timing", "X-Request-Id", "X-Correlation-Id", "X-Trace-Id", "Retry-After",
}

// mayDiffer reports a field that the guard or a layer around it makes anew.
func (e *endpoint) mayDiffer(name string) bool {
	for _, prefix := range []string{"Access-Control-", "Ratelimit", "X-Ratelimit-", "X-Rate-Limit-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	same := func(s string) bool { return strings.EqualFold(s, name) }
	return name == "Date" || slices.Contains(exchangeOnly, name) || slices.ContainsFunc(e.Fresh, same)
}

func (e *endpoint) replayedHeader() {
	key := e.key()
	first, ok := e.first(key)
	if !ok {
		return
	}
	again := e.send(e.sample(key))
	if again.err != nil {
		e.errorf("the repeat got no answer: %v", again.err)
		return
	}
	for name, values := range first.header {
		if repeated := again.header[name]; !e.mayDiffer(name) && !slices.Equal(values, repeated) {
			e.errorf("%s is %q, in the first answer it was %q; if a layer around the guard makes it anew, name it in Fresh", name, repeated, values)
		}
	}
	for _, name := range exchangeOnly {
		for _, value := range first.header[name] {
			if slices.Contains(again.header[name], value) {
				e.errorf("%s: %q is repeated, it belongs to the first exchange alone", name, value)
			}
		}
	}
	for _, name := range []string{"Idempotency-Ref", "Idempotency-Expires", "Idempotency-Remembered"} {
		if first.header.Get(name) == "" {
			e.errorf("the first answer has no %s: no record stands behind it, or a layer drops the field", name)
		}
	}
	for _, a := range []answer{first, again} {
		if a.header.Get("Date") == "" {
			e.errorf("an answer has no Date")
		}
		if a.length >= 0 && a.length != int64(len(a.body)) {
			e.errorf("Content-Length is %d, the body has %d bytes", a.length, len(a.body))
		}
	}
}

func (e *endpoint) anotherKey() {
	first, ok := e.first(e.key())
	if !ok {
		return
	}
	if other, ok := e.fresh("the same request under another key", e.sample(e.key())); ok && other.ref() == first.ref() {
		e.errorf("two keys have one ref, %s", first.ref())
	}
}

func (e *endpoint) duplicates() {
	q := e.sample(e.key())
	answers := make([]answer, crowd)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = e.send(q) })
	}
	all.Wait()
	e.wantEffects(1)
	var executed, repeats []answer
	for _, a := range answers {
		switch {
		case a.err != nil:
			e.errorf("a duplicate got no answer: %v", a.err)
		case a.problem() == "in-progress" && (a.status == http.StatusConflict && a.header.Get("Retry-After") != "" ||
			a.status == http.StatusAccepted && e.Contract.Async):
		case a.problem() != "" || e.status != 0 && a.status != e.status:
			e.errorf("a duplicate was answered %v, want the first answer or 409 in-progress with Retry-After", a)
		case a.replayed(e):
			repeats = append(repeats, a)
		default:
			executed = append(executed, a)
		}
	}
	if len(executed) != 1 {
		e.errorf("%d of %d duplicates were answered as the first one", len(executed), crowd)
		return
	}
	for _, a := range append(repeats, e.send(q)) {
		e.wantReplay(a, executed[0])
	}
}

func (e *endpoint) anotherBody() {
	key := e.key()
	first, ok := e.first(key)
	if !ok {
		return
	}
	q := e.sample(key)
	q.body = e.OtherBody
	e.wantProblem(e.send(q), http.StatusUnprocessableEntity, "key-reused", q)
	e.wantReplay(e.send(e.sample(key)), first)
	e.wantEffects(1)
}

func (e *endpoint) reordered() {
	body, ok := reorderedJSON(e.Body)
	if !ok || !strings.Contains(e.Header.Get("Content-Type"), "json") || e.Contract.Rule != "" {
		return // it is compared byte for byte
	}
	e.repeatAs(ask{body: body})
}

func (e *endpoint) chunked() { e.repeatAs(ask{body: e.Body, chunked: true}) }

// repeatAs sends the sample, then the same request in another form.
func (e *endpoint) repeatAs(form ask) {
	q := e.sample(e.key())
	if first, ok := e.fresh("the first request", q); ok {
		form.keys, form.credential = q.keys, q.credential
		e.wantReplay(e.send(form), first)
		e.wantEffects(1)
	}
}

func (e *endpoint) anotherCaller() {
	key := e.key()
	first, ok := e.first(key)
	if !ok {
		return
	}
	q := e.sample(key)
	q.credential = e.OtherCredential
	if other, ok := e.fresh("another caller's request with an equal key", q); ok && other.ref() == first.ref() {
		e.errorf("two callers share the record %s", first.ref())
	}
	e.wantReplay(e.send(e.sample(key)), first)
	e.wantEffects(2)
}

func (e *endpoint) noCredential() {
	key := e.key()
	if _, ok := e.first(key); !ok {
		return
	}
	for _, key := range []string{key, e.key()} {
		q := e.sample(key)
		q.credential = nil
		e.wantRefusedCaller(e.send(q))
	}
	e.wantEffects(1)
}

func (e *endpoint) wantRefusedCaller(a answer) {
	e.t.Helper()
	if a.status != http.StatusUnauthorized && a.status != http.StatusForbidden {
		e.errorf("the answer is %v, want 401 or 403", a)
	}
}

func (e *endpoint) revoked() {
	if e.Revoke == nil {
		return
	}
	key := e.key()
	if _, ok := e.first(key); !ok {
		return
	}
	e.Revoke()
	e.wantRefusedCaller(e.send(e.sample(key)))
	e.wantRefusedCaller(e.send(e.sample(e.key())))
	e.wantEffects(1)
}

func (e *endpoint) noKey() {
	q := e.sample("")
	q.keys = nil
	if e.Contract.KeyOptional {
		if _, ok := e.fresh("a request without a key", q); ok {
			_, _ = e.fresh("another request without a key", q)
		}
		return
	}
	e.wantProblem(e.send(q), http.StatusBadRequest, "key-missing", q)
	e.wantEffects(0)
}

func (e *endpoint) malformedKey() { e.refusedKey(`"no end`) }
func (e *endpoint) longKey()      { e.refusedKey(`"` + strings.Repeat("k", 256) + `"`) }
func (e *endpoint) twoKeys()      { e.refusedKey(`"`+e.key()+`"`, `"`+e.key()+`"`) }

func (e *endpoint) refusedKey(lines ...string) {
	q := e.sample("")
	q.keys = lines
	e.wantProblem(e.send(q), http.StatusBadRequest, "key-invalid", q)
	e.wantEffects(0)
}
