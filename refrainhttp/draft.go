package refrainhttp

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// draft is an answer in the making: what a run has chosen so far and what is
// kept of it. Both guards build their ResponseWriter around it.
type draft struct {
	marker string // the guard's replay field, which a handler cannot set
	header http.Header
	status int         // 0 until chosen
	length int64       // the declared one, -1 without
	kept   [][2]string // the fields a record keeps
	once   [][2]string // the fields only the first answer shows
	body   spool

	declared declaration
	effect   string // the effect reference
	ended    bool   // the handler has returned
}

func newDraft(x *exchange) draft {
	return draft{marker: x.ReplayedHeader, header: make(http.Header), length: -1, body: spool{limit: responseLimit(x.contract)}}
}

func (d *draft) Header() http.Header { return d.header }

// settled reports whether a call of WriteHeader with status changes nothing. As
// in net/http, an impossible status is a panic.
func (d *draft) settled(status int) bool {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("refrainhttp: invalid WriteHeader code %d", status))
	}
	return d.status != 0 || d.ended
}

// choose fixes the status and the header fields that go with it.
func (d *draft) choose(status int) {
	d.status = status
	if declared := d.header.Get("Content-Length"); declared != "" {
		if n, err := strconv.ParseInt(declared, 10, 64); err == nil && n >= 0 {
			d.length = n
		}
	}
	if d.effect == "" {
		d.effect = d.header.Get("Location")
	}
	d.kept, d.once = sortFields(d.header, d.marker)
}

// eventStream reports whether the answer is a stream of events.
func (d *draft) eventStream() bool {
	media, _, _ := strings.Cut(d.header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
}

// admit says whether n more bytes of body are part of the answer.
func (d *draft) admit(n int) error {
	switch {
	case d.ended:
		return errors.New("refrainhttp: write after the handler returned")
	case !bodyAllowed(d.status):
		return http.ErrBodyNotAllowed
	case d.length >= 0 && d.body.size+int64(n) > d.length:
		return http.ErrContentLength
	}
	return nil
}

// incomplete reports a body shorter than it was declared.
func (d *draft) incomplete() bool {
	return d.length >= 0 && d.body.size != d.length && bodyAllowed(d.status)
}

// bodyAllowed reports whether answers of this status have a body (RFC 9110 §6.4.1).
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// sniff makes net/http's guess at the media type part of the record: a later
// version may guess otherwise.
func (d *draft) sniff() {
	if d.body.size == 0 || d.header["Content-Encoding"] != nil {
		return
	}
	if _, chosen := d.header["Content-Type"]; !chosen {
		d.kept = append(d.kept, [2]string{"Content-Type", http.DetectContentType(d.body.head())})
	}
}

// send is the first answer, once its outcome is written or where nothing is
// recorded. A body that ended early is announced as long as it was declared, so
// the client does not take it for whole.
func (d *draft) send(w http.ResponseWriter, behind receipt) {
	var room [24][2]string // enough for nearly all answers without an allocation
	fields := append(append(room[:0], d.kept...), d.once...)
	begin(w, d.status, max(d.body.size, d.length), behind.addTo(fields))
	if bodyAllowed(d.status) {
		_ = d.body.writeTo(w) // the client may be gone; what happened is recorded
	}
}

func (d *draft) close() { d.body.close() }
