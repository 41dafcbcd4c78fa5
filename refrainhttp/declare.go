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
	notStarted
)

// Record declares that the answer is the outcome of the action: whatever its
// status, it is recorded as confirmed. Under [Handle] the handler's writes are
// kept. Say so before WriteHeader; later is too late: [Handle] rolls back with
// 500 answer-undeclared, [Wrap] goes by the status. On a writer that no guard
// stands behind it does nothing.
func Record(w http.ResponseWriter) { declare(w, "Record", recorded) }

// Refuse declares that the action is refused: the answer is recorded as
// rejected and repeats get the same. Under [Handle] the handler's writes are
// rolled back; under [Wrap] the handler says that it has made none that count.
// Say so before WriteHeader, as with [Record].
func Refuse(w http.ResponseWriter) { declare(w, "Refuse", refused) }

// NotStarted declares that the action provably did not begin. Under [Wrap] it
// frees the key: nothing is recorded, and a retry runs the handler again. Where
// an earlier attempt may have begun the outcome stays unknown. Say so before
// WriteHeader; later changes nothing. Under [Handle], whose writes are rolled
// back anyway, it does nothing.
func NotStarted(w http.ResponseWriter) {
	if s, wrapped := writerOf(w).(*stream); wrapped {
		s.declare("NotStarted", func(d *draft) { d.declared = notStarted })
	}
}

// SetEffect names where the outcome can be seen, in place of the Location
// field. It is told when the result itself is no longer kept. Say so before
// WriteHeader, as with [Record].
func SetEffect(w http.ResponseWriter, ref string) {
	if c := writerOf(w); c != nil {
		c.declare("SetEffect", func(d *draft) { d.effect = ref })
	}
}

func declare(w http.ResponseWriter, name string, as declaration) {
	if c := writerOf(w); c != nil {
		c.declare(name, func(d *draft) { d.declared = as })
	}
}

// declarer is a guard's writer: it takes declarations while they still count.
type declarer interface {
	declare(name string, set func(*draft))
}

// declare spoils the run where the declaration comes late: it was meant to
// decide about writes and must not pass in silence.
func (c *capture) declare(name string, set func(*draft)) {
	switch {
	case c.ended:
	case c.status != 0:
		_ = c.spoil(record.AnswerUndeclared,
			"The handler called refrainhttp.%s after it had answered %d; declarations come before WriteHeader.", name, c.status)
	default:
		set(&c.draft)
	}
}

// writerOf finds a guard's writer below the middleware inside it.
func writerOf(w http.ResponseWriter) declarer {
	for {
		switch t := w.(type) {
		case declarer:
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
