package external_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
)

// answered is one line of a profile's table: what an answer proves as that of the
// first submission and of a repeat.
type answered struct {
	status int
	header string // "Name: value"
	body   string

	first, repeat operation.End
	stored        bool // on a repeat
	parked        bool
	wait          time.Duration
}

const (
	asLost, asRefused, asConfirmed = operation.Lost, operation.Refused, operation.Confirmed
)

// undecided are the answers no profile of this package may take for an outcome.
var undecided = []answered{
	{status: 301, body: `{"id":"ch_1"}`, first: asLost, repeat: asLost},
	{status: 303, body: `{"id":"ch_1"}`, first: asLost, repeat: asLost},
	{status: 401, body: `{"error":{"type":"invalid_request_error"}}`, first: asLost, repeat: asLost},
	{status: 401, header: "Idempotent-Replayed: true", first: asLost, repeat: asLost},
	{status: 403, body: `{"status":403,"errorCode":"010"}`, first: asLost, repeat: asLost},
	{status: 404, header: "Idempotent-Replayed: true", body: `{"error":{"type":"invalid_request_error"}}`, first: asLost, repeat: asLost},
	{status: 407, first: asLost, repeat: asLost},
	{status: 408, first: asLost, repeat: asLost},
	{status: 425, first: asLost, repeat: asLost},
	{status: 429, header: "Retry-After: 7", first: asLost, repeat: asLost, wait: 7 * time.Second},
	{status: 500, header: "Idempotent-Replayed: true", body: `{"error":{"type":"api_error"}}`, first: asLost, repeat: asLost},
	{status: 502, body: `<html>`, first: asLost, repeat: asLost},
	{status: 503, header: "Retry-After: 120", first: asLost, repeat: asLost, wait: 2 * time.Minute},
	{status: 504, first: asLost, repeat: asLost},
}

func header(line string) http.Header {
	h := http.Header{}
	if name, value, ok := strings.Cut(line, ": "); ok {
		h.Set(name, value)
	}
	return h
}

// holds checks a profile's own table, and what holds for every profile.
func holds(t *testing.T, p external.Profile, table []answered) {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range append(undecided, table...) {
		for repeats, want := range map[bool]operation.End{false: tt.first, true: tt.repeat} {
			got := p.Classify(external.Answer{Status: tt.status, Header: header(tt.header), Body: []byte(tt.body)}, repeats)
			if got.End != want || got.RetryAfter != tt.wait || got.Park != tt.parked || got.Status != tt.status || string(got.Body) != tt.body {
				t.Errorf("%s: %d %s %s, repeats=%t: %+v; want %v", p.Name, tt.status, tt.header, tt.body, repeats, got, want)
			}
			if repeats && got.Stored != tt.stored || got.Stored && got.End != asRefused {
				t.Errorf("%s: %d %s %s, repeats=%t: stored=%t", p.Name, tt.status, tt.header, tt.body, repeats, got.Stored)
			}
			if tt.body != "" && strings.Contains(got.Note, tt.body) {
				t.Errorf("%s: the note tells the body: %s", p.Name, got.Note)
			}
		}
	}
}

// TestRepeatsAreNotSettledByLayersInFront, whatever a profile's rules say.
func TestRepeatsAreNotSettledByLayersInFront(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 307, 308, 401, 403, 404} {
		for _, end := range []operation.End{asRefused, asConfirmed} {
			p := external.Profile{Rules: []external.Rule{{Status: []int{status}, End: end, Stored: end == asRefused}}}
			if got := p.Classify(external.Answer{Status: status}, false); got.End != end {
				t.Errorf("first, %d: %+v, want as the rule says", status, got)
			}
			if got := p.Classify(external.Answer{Status: status}, true); got.End != asLost || got.Stored {
				t.Errorf("repeat, %d: %+v, want lost", status, got)
			}
		}
	}
}

// TestUndecodable: neither a body cut short nor another layer's page is taken for
// what it might be.
func TestUndecodable(t *testing.T) {
	t.Parallel()
	p := external.StripeV1()
	for _, body := range []string{"", "<html>", `{"id":"ch_1"`, `{"id":"ch_1"}{}`, `{}`, `{"id":{}}`, `[]`, `{"id":""}`} {
		if got := p.Classify(external.Answer{Status: 200, Body: []byte(body)}, false); got.End != asLost {
			t.Errorf("200 %s: %+v, want lost", body, got)
		}
	}
	for body, want := range map[string]string{`{"id":"ch_1"}`: "ch_1", ` {"id": 17} `: "17"} {
		if got := p.Classify(external.Answer{Status: 200, Body: []byte(body)}, true); got.End != asConfirmed || got.Reference != want {
			t.Errorf("200 %s: %+v, want confirmed with %s", body, got, want)
		}
	}
}

func TestProfileValidate(t *testing.T) {
	t.Parallel()
	rule := func(r external.Rule) external.Profile { return external.Profile{Rules: []external.Rule{r}} }
	for name, p := range map[string]external.Profile{
		"terms":          {Terms: operation.Terms{DedupesFor: time.Hour}},
		"two places":     {KeyHeader: "K", KeyField: "k"},
		"all":            rule(external.Rule{End: asLost}),
		"open":           rule(external.Rule{Status: []int{400}}),
		"not sent":       rule(external.Rule{Status: []int{400}, End: operation.NotSent}),
		"value alone":    rule(external.Rule{Status: []int{400}, Value: "v", End: asLost}),
		"values alone":   rule(external.Rule{Status: []int{400}, Values: []string{"v"}, End: asLost}),
		"field alone":    rule(external.Rule{Field: "f", End: asLost}),
		"stored success": rule(external.Rule{Status: []int{200}, End: asConfirmed, Stored: true}),
		"parked refusal": rule(external.Rule{Status: []int{400}, End: asRefused, Park: true}),
		"negative wait":  rule(external.Rule{Status: []int{400}, End: asLost, RetryAfter: -1}),
	} {
		if p.Validate() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
