package shop

import (
	"encoding/json"
	"net/http"
)

// problem is a problem of the shop's own, as the page at problemPath describes
// it. What the guard answers has the library's names.
type problem struct {
	Name      string // the fragment of its type
	Status    int
	Retryable bool
	Title     string
	Means     string
}

// problemPath is the page of the shop's problems. A problem's type is this
// path with its name (RFC 9457 §3.1.1 allows relative ones): the demo has no
// address of its own.
const problemPath = "/problems"

var (
	badOrder = problem{"invalid-order", http.StatusBadRequest, false, "The order is not valid",
		"No order was made and nothing is remembered: the key stays free."}
	badQuote = problem{"invalid-quote", http.StatusBadRequest, false, "The quote is not valid",
		"It was refused before the guard saw it: nothing is remembered and the key stays free."}
	badPayment = problem{"invalid-payment", http.StatusBadRequest, false, "The payment is not valid",
		"Nothing was charged and nothing is remembered: the key stays free."}
	badMedia = problem{"unsupported-media-type", http.StatusUnsupportedMediaType, false, "The media type is not supported",
		"The shop reads JSON. Nothing is remembered: the key stays free."}
	tooLong = problem{"too-long", http.StatusRequestEntityTooLarge, false, "The request is too long",
		"A quote is short. Nothing is remembered: the key stays free."}
	badLimit = problem{"invalid-limit", http.StatusBadRequest, false, "The limit is not valid",
		"A list has 1 to 1000 entries."}
	outOfStock = problem{"out-of-stock", http.StatusConflict, false, "The article is sold out",
		"No order was made. The refusal is recorded: the same request gets it again."}
	declined = problem{"payment-declined", http.StatusPaymentRequired, false, "The provider declined the charge",
		"Nothing was charged. The refusal is recorded: the same request gets it again."}
	quoteFailed = problem{"quote-failed", http.StatusInternalServerError, true, "The quote failed",
		"Whether it was made is not known: the handler failed, and no status proves that nothing happened. The same request with the same key is told what is known."}
	anonymous = problem{"unauthenticated", http.StatusUnauthorized, false, "Authentication is required",
		"Send the bearer token of a tenant, demo-north or demo-south."}
	notFound = problem{"not-found", http.StatusNotFound, false, "There is no such thing",
		"Nothing with this id is known to the caller."}
	notReadable = problem{"database-unreadable", http.StatusServiceUnavailable, true, "The database cannot be read",
		"Ask again later."}
)

// problems are all of them, in the order of the page.
var problems = []problem{badOrder, badQuote, badPayment, badMedia, tooLong, badLimit, outOfStock, declined, quoteFailed, anonymous, notFound, notReadable}

// problemDoc is a problem document (RFC 9457).
type problemDoc struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Retryable bool   `json:"retryable"`
}

// writeProblem answers with a problem; without a detail, with what it means.
func writeProblem(w http.ResponseWriter, p problem, detail string) {
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	write(w, p.Status, "application/problem+json", p.document(detail))
}

func (p problem) document(detail string) problemDoc {
	if detail == "" {
		detail = p.Means
	}
	return problemDoc{problemPath + "#" + p.Name, p.Title, p.Status, detail, p.Retryable}
}

// writeJSON answers with one document. It is nobody's to cache.
func writeJSON(w http.ResponseWriter, status int, doc any) { write(w, status, "application/json", doc) }

func write(w http.ResponseWriter, status int, media string, doc any) {
	body, err := json.Marshal(doc)
	if err != nil { // documents of strings and numbers
		panic(err)
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
