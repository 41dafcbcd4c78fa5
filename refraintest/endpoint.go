package refraintest

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// EndpointConfig describes one guarded endpoint and a request that has an
// effect there. Path, Credential and Effects are required, the rest as far as
// rows are to be checked.
type EndpointConfig struct {
	Method string // POST by default
	Path   string // with its query, as a client sends it
	Header http.Header
	// Body is the sample; OtherBody is as valid and means something else. Both
	// are application/json unless Header says otherwise.
	Body, OtherBody string

	// Credential are the fields by which a caller is known, such as
	// Authorization; OtherCredential are those of a caller in another scope.
	Credential, OtherCredential http.Header
	// Revoke makes Credential invalid. It is called last.
	Revoke func()

	// Effects counts the effects there have been, in the business data and not
	// by the answers. Each action of the sample adds one.
	Effects func() int

	// Contract is the endpoint's own.
	Contract refrain.Contract
	// Clock is the clock of the engine and the guard; it is moved past
	// RememberFor. Without it the rows that need time to pass are left out.
	Clock *Clock

	// KeyHeader and ReplayedHeader are the guard's, by default Idempotency-Key
	// and Idempotent-Replayed.
	KeyHeader, ReplayedHeader string
	// Fresh names fields that layers around the guard make anew for each
	// answer; they may differ in a replay.
	Fresh []string
	// Skip names rows to leave out, as they appear in reports.
	Skip []string
}

// row is one thing every guarded endpoint does.
type row struct {
	name  string
	check func(*endpoint)
}

// rows in their order: those that move the clock come late, the one that
// revokes the credential last.
var rows = []row{
	{"replay", (*endpoint).replay},
	{"replayed header", (*endpoint).replayedHeader},
	{"another key", (*endpoint).anotherKey},
	{"duplicates at once", (*endpoint).duplicates},
	{"another body", (*endpoint).anotherBody},
	{"reordered JSON", (*endpoint).reordered},
	{"chunked body", (*endpoint).chunked},
	{"body cut short", (*endpoint).cutShort},
	{"client that leaves", (*endpoint).leaves},
	{"another caller", (*endpoint).anotherCaller},
	{"no credential", (*endpoint).noCredential},
	{"no key", (*endpoint).noKey},
	{"malformed key", (*endpoint).malformedKey},
	{"key too long", (*endpoint).longKey},
	{"two key lines", (*endpoint).twoKeys},
	{"past ReplayFor", (*endpoint).pastReplay},
	{"past RememberFor, untimed key", (*endpoint).pastMemoryUntimed},
	{"past RememberFor, timed key", (*endpoint).pastMemoryTimed},
	{"revoked credential", (*endpoint).revoked},
}

// Endpoint drives a handler guarded by [refrainhttp.Handle] or
// [refrainhttp.Wrap] through the decision table, over a real connection, and
// reports through t each row that does not hold, by its name. The handler may
// have middleware around it and a mux before it: test what you serve.
func Endpoint(t testing.TB, h http.Handler, config EndpointConfig) {
	t.Helper()
	e := &endpoint{EndpointConfig: config, t: t}
	if !e.complete() {
		return
	}
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients leave on purpose
	server.Start()
	defer server.Close()
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: crowd}
	defer transport.CloseIdleConnections()
	e.url, e.addr = server.URL, server.Listener.Addr().String()
	e.client = &http.Client{
		Transport: transport, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for i, row := range rows {
		if slices.Contains(e.Skip, row.name) {
			continue
		}
		e.row = row.name
		e.before = e.Effects()
		row.check(e)
		if e.fruitless && i == 0 {
			return // the sample itself does not work
		}
	}
}

// complete fills in the defaults and reports what is missing.
func (e *endpoint) complete() bool {
	e.t.Helper()
	missing := func(field, why string) {
		e.t.Helper()
		e.t.Errorf("refraintest: EndpointConfig.%s %s", field, why)
		e.unfit = true
	}
	if !strings.HasPrefix(e.Path, "/") {
		missing("Path", "is missing: the path of the sample request, such as /orders")
	}
	if len(e.Credential) == 0 {
		missing("Credential", "is missing: the fields by which the caller is known, such as Authorization")
	}
	if e.Effects == nil {
		missing("Effects", "is missing: answers do not prove effects, count rows")
	}
	if e.Clock != nil && e.Contract.Operation == "" {
		missing("Contract", "is missing: with Clock, its ReplayFor and RememberFor are checked")
	}
	if e.OtherBody == "" && !slices.Contains(e.Skip, "another body") {
		missing("OtherBody", `is missing: another valid request, or Skip "another body"`)
	}
	if len(e.OtherCredential) == 0 && !slices.Contains(e.Skip, "another caller") {
		missing("OtherCredential", `is missing: a caller in another scope, or Skip "another caller"`)
	}
	for _, name := range e.Skip {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.name == name }) {
			missing("Skip", "names "+name+", which is no row")
		}
	}
	given := e.Header
	e.Header = make(http.Header)
	for name, values := range given {
		e.Header[http.CanonicalHeaderKey(name)] = values
	}
	if e.Header.Get("Content-Type") == "" {
		e.Header.Set("Content-Type", "application/json")
	}
	e.Method = orElse(e.Method, http.MethodPost)
	e.KeyHeader = orElse(e.KeyHeader, refrainhttp.DefaultHeader)
	e.ReplayedHeader = orElse(e.ReplayedHeader, refrainhttp.DefaultReplayedHeader)
	return !e.unfit
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
