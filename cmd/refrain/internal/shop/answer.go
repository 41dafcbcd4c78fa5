package shop

import (
	"encoding/json"
	"net/http"

	"github.com/refrain-dev/refrain/refrainhttp"
)

// writeJSON answers with one document. It is nobody's to cache.
func writeJSON(w http.ResponseWriter, status int, doc any) { write(w, status, "application/json", doc) }

// writeProblem answers with a problem document (RFC 9457). The shop's own
// problems are never retryable: they are about the request itself.
func writeProblem(w http.ResponseWriter, status int, name, title, detail string) {
	write(w, status, "application/problem+json", map[string]any{
		"type":      refrainhttp.DefaultProblemBase + "#" + name,
		"title":     title,
		"status":    status,
		"detail":    detail,
		"retryable": false,
	})
}

// unreadable answers a read the database could not serve.
func unreadable(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	write(w, http.StatusServiceUnavailable, "application/problem+json", map[string]any{
		"type": refrainhttp.DefaultProblemBase + "#store-unavailable", "title": "The database cannot be read",
		"status": http.StatusServiceUnavailable, "retryable": true,
	})
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
