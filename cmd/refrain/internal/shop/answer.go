package shop

import (
	"encoding/json"
	"net/http"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// problem is a problem document (RFC 9457) of the shop's own.
type problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Retryable bool   `json:"retryable"`
}

// writeJSON answers with one document. It is nobody's to cache.
func writeJSON(w http.ResponseWriter, status int, doc any) { write(w, status, "application/json", doc) }

// writeProblem answers that the request itself is wrong: no repeat will help.
func writeProblem(w http.ResponseWriter, status int, name, title, detail string) {
	write(w, status, "application/problem+json", problem{refrainhttp.DefaultProblemBase + "#" + name, title, status, detail, false})
}

// unreadable answers a read the database could not serve.
func unreadable(w http.ResponseWriter) {
	p := record.StoreUnavailable
	w.Header().Set("Retry-After", "1")
	write(w, p.Status(), "application/problem+json", problem{refrainhttp.DefaultProblemBase + "#" + string(p),
		"The database cannot be read", p.Status(), "Ask again later.", true})
}

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
