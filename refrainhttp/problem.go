package refrainhttp

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
)

const (
	problemType  = "application/problem+json"
	statusHeader = "Idempotency-Status"
)

// problemDoc is a problem document (RFC 9457 §3) with our extension members.
type problemDoc struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail,omitempty"`
	Instance  string `json:"instance"`
	Retryable bool   `json:"retryable"`
	Ref       string `json:"ref,omitempty"`
	State     string `json:"state,omitempty"`
	Effect    string `json:"effect,omitempty"`
	KeyTime   string `json:"key_time,omitempty"`
	Now       string `json:"now,omitempty"`
	StatusURL string `json:"status_url,omitempty"`
}

// problem is the one function that maps a refusal to a response.
func (rt *route) problem(w http.ResponseWriter, r *http.Request, e *record.Error) {
	doc := problemDoc{
		Title:     e.Problem.Title(),
		Status:    e.Problem.Status(),
		Detail:    detail(e),
		Retryable: e.Retryable(),
		Ref:       e.Ref,
		Effect:    e.Effect,
		StatusURL: rt.statusURL(e),
	}
	if e.State != 0 {
		doc.State = e.State.String()
	}
	h := w.Header()
	if !e.Born.IsZero() {
		doc.KeyTime = e.Born.UTC().Format(time.RFC3339Nano)
		doc.Now = e.Now.UTC().Format(time.RFC3339Nano)
	}
	switch e.Problem {
	case record.NotExecuted:
		if e.Final {
			doc.Status = http.StatusInternalServerError
		}
	case record.ResultGone:
		if e.Record != nil {
			addFields(h, receipt{e.Record.Ref, e.Record.ReplayUntil, e.Record.RememberUntil}.addTo(nil))
		}
		if doc.StatusURL != "" {
			h.Set("Content-Location", doc.StatusURL)
		}
		if rt.contract.SeeOther && isLocation(e.Effect) {
			doc.Status = http.StatusSeeOther
			h.Set("Location", e.Effect)
		}
	}
	if doc.StatusURL != "" {
		h.Add("Link", "<"+doc.StatusURL+`>; rel="status"`) // RFC 8631 §4.4
	}
	rt.Guard.problem(w, string(e.Problem), doc, e.RetryAfter)
}

// problem writes a problem document under its name.
func (g *Guard) problem(w http.ResponseWriter, name string, doc problemDoc, retryAfter time.Duration) {
	doc.Type = g.ProblemBase + "#" + name
	doc.Instance = "urn:uuid:" + newUUID()
	h := w.Header()
	if doc.Status == http.StatusUnauthorized {
		h.Set("Www-Authenticate", g.Challenge)
	}
	if doc.Retryable {
		seconds := int64((retryAfter + time.Second - 1) / time.Second)
		h.Set("Retry-After", strconv.FormatInt(max(seconds, 1), 10))
	}
	h.Set(statusHeader, name)
	h.Add("Link", "<"+doc.Type+`>; rel="describedby"`)
	h.Set("Content-Language", "en")
	g.write(w, doc.Status, problemType, doc)
}

// write writes a document of our own: fresh, and nobody's to cache.
func (g *Guard) write(w http.ResponseWriter, status int, media string, doc any) {
	text, err := json.Marshal(doc)
	if err != nil { // our documents are strings, numbers and times
		panic(err)
	}
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Cache-Control", "no-store")
	h.Set("Date", g.Now().UTC().Format(http.TimeFormat))
	begin(w, status, int64(len(text)), nil)
	_, _ = w.Write(text)
}

// statusURL is where the record, or an earlier request with this key, can be
// asked about.
func (rt *route) statusURL(e *record.Error) string {
	switch {
	case rt.StatusPath == "" || e.Row == "12":
		return ""
	case e.Ref != "":
		return rt.StatusPath + "/" + e.Ref
	}
	return rt.StatusPath + "?operation=" + url.QueryEscape(rt.contract.Operation)
}

// isLocation reports whether an effect reference can be a Location: an http URL
// or a path. Others, such as "charge 17", stay in the document.
func isLocation(ref string) bool {
	u, err := url.Parse(ref)
	return err == nil && !strings.ContainsAny(ref, " \r\n") &&
		(u.Scheme == "" && strings.HasPrefix(u.Path, "/") || (u.Scheme == "https" || u.Scheme == "http") && u.Host != "")
}

// detail says what the client can do now. It holds no key and no payload.
func detail(e *record.Error) string {
	var fault *answerFault
	if errors.As(e.Err, &fault) {
		return fault.text
	}
	var key *KeyError
	if errors.As(e.Err, &key) {
		return "The key field cannot be read: " + string(key.Reason) + ". " + tellsNothing
	}
	if e.Problem == record.NotExecuted && e.Final {
		return "The action was rolled back several times in a row; sending it again is of no use until it is mended."
	}
	return details[e.Problem]
}

const tellsNothing = "This answer says nothing about an earlier request with this key; ask by key to find out."

var details = map[record.Problem]string{
	record.TooLate: "The key is old enough to belong to an action that was forgotten or lost, or has no time of its own to tell, so this may be a late retry. " +
		"Nothing was executed. Ask by key first, then check the business data; only if the action did not happen, send it with a new key. " +
		"For the operator: where keys are ids that only look like times, the contract's KeyTime is None; refrain review settles this refusal.",
	record.KeyFromFuture: "The time inside the key is later than the server's clock allows. Nothing was executed. " +
		"Compare your clock with the Date field. Ask by key first if an earlier request may have used this key.",
	record.KeyReused:        "An earlier request with this key was different. Nothing was executed. Use a new key for a new action, or send the earlier request unchanged.",
	record.ResultGone:       "The action is final and was not executed again; its full result is no longer kept. The reference says where to look.",
	record.InProgress:       "An earlier request with this key has not finished. Send the same request again after the time in Retry-After.",
	record.OutcomeUnknown:   "The action may have happened. Do not start it anew under another key; send the same request again later.",
	record.OutcomeDisputed:  "The action has contradicting answers that a person must settle. Do not start it anew under another key.",
	record.StoreUnavailable: "The record could not be read or written, so nothing was executed. Send the same request again with the same key.",
	record.CommitUnknown:    "The action may have been committed. Send the same request again with the same key; it will not be executed twice.",
	record.KeyMissing:       "This operation needs an idempotency key. " + tellsNothing,
	record.KeyInvalid:       "The key does not have the form or the time this operation asks for. " + tellsNothing,
	record.PrincipalMissing: "The request carries no valid credentials. Nothing was looked up.",
	record.Forbidden:        "The caller may not do this. Nothing was looked up.",
	record.BodyTooLarge:     "The body is longer than this operation reads. " + tellsNothing,
	record.BodyNotCanonical: "The body ended early or has more than one meaning, so it cannot be compared. " + tellsNothing,
	record.NotExecuted:      "The action ran out of time and was rolled back. Send the same request again after the time in Retry-After.",
	record.ResponseTooLarge: "The answer was too large to be recorded, so everything was rolled back.",
	record.HandlerFailed:    "The handler failed and everything it wrote was rolled back. Nothing was recorded.",
	record.RecordUnreadable: "A record for this key exists and cannot be read. The action may have happened; do not start it anew under another key.",
	record.ContractChanged:  "The operation's contract is being changed. Nothing was executed; send the same request again later.",
	record.Recovering: "The store was restored and is under review: whether an earlier request with this key was lost cannot be told yet. " +
		"Nothing was executed; send the same request again later.",
	record.PrincipalUnproven: "Whether the caller may do this could not be found out. Nothing was looked up; " +
		"send the same request again later.",
}
