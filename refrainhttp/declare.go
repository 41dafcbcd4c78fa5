package refrainhttp

import (
	"encoding/json"
	"net/http"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

type declaration int

const (
	recorded declaration = iota + 1
	refused
)

// Record declares that the answer is the outcome of the action: whatever its
// status, it is recorded as confirmed and the handler's writes are kept. Say so
// before WriteHeader; later is too late and rolls back with 500
// answer-undeclared. On a writer that no guard stands behind it does nothing.
func Record(w http.ResponseWriter) { declare(w, recorded) }

// Refuse declares that the action is refused: the handler's writes are rolled
// back, the answer is recorded as rejected and repeats get the same. Say so
// before WriteHeader, as with [Record].
func Refuse(w http.ResponseWriter) { declare(w, refused) }

// SetEffect names where the outcome can be seen, in place of the Location
// field. It is told when the result itself is no longer kept. Say so before
// WriteHeader, as with [Record].
func SetEffect(w http.ResponseWriter, ref string) {
	if c := captureOf(w); c.admits("SetEffect") {
		c.effect = ref
	}
}

func declare(w http.ResponseWriter, d declaration) {
	name := "Record"
	if d == refused {
		name = "Refuse"
	}
	if c := captureOf(w); c.admits(name) {
		c.declared = d
	}
}

// admits reports that declarations still count. One that comes late was meant to
// decide about writes and must not pass in silence.
func (c *capture) admits(name string) bool {
	switch {
	case c == nil || c.ended:
		return false
	case c.status != 0:
		_ = c.spoil(record.AnswerUndeclared,
			"The handler called refrainhttp.%s after it had answered %d; declarations come before WriteHeader.", name, c.status)
		return false
	}
	return true
}

// captureOf finds our writer below the middleware inside the guard.
func captureOf(w http.ResponseWriter) *capture {
	for {
		switch t := w.(type) {
		case *capture:
			return t
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return nil
		}
	}
}

// recordable reports whether the answer is one to keep: declared, or a status
// that says by itself that the action was done.
func (c *capture) recordable() bool {
	return c.declared != 0 || c.status >= 200 && c.status < 300 ||
		c.status == http.StatusFound || c.status == http.StatusSeeOther
}

// reject takes refrain.Reject as Refuse. A handler that wrote no answer gets
// one: 422 with the reason's text.
func (c *capture) reject(r *refrain.Rejection) {
	c.declared = refused
	if c.status != 0 || c.fault != nil {
		return
	}
	doc, err := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"about:blank", http.StatusText(http.StatusUnprocessableEntity), http.StatusUnprocessableEntity, r.Error()})
	if err != nil { // a struct of strings always marshals
		panic(err)
	}
	clear(c.header)
	c.header.Set("Content-Type", problemType)
	c.WriteHeader(http.StatusUnprocessableEntity)
	_, _ = c.Write(doc)
}
