package refrainhttp

import (
	"net/http"
	"strconv"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// The fields of an answer a final record stands behind. The times are RFC 9651
// Dates (§3.3.7), whole seconds.
const (
	refHeader        = "Idempotency-Ref"
	expiresHeader    = "Idempotency-Expires"
	rememberedHeader = "Idempotency-Remembered"
)

// receipt is the record behind an answer; zero for none.
type receipt struct {
	ref              string
	replay, remember time.Time
}

// addTo appends the receipt's part of the header: the ref and, of a final
// record, the end of replay and the end of memory.
func (r receipt) addTo(fields [][2]string) [][2]string {
	if r.ref == "" {
		return fields
	}
	if r.remember.IsZero() {
		return append(fields, [2]string{refHeader, r.ref})
	}
	var buf [48]byte
	text := strconv.AppendInt(append(buf[:0], '@'), r.replay.Unix(), 10)
	cut := len(text)
	text = strconv.AppendInt(append(text, '@'), r.remember.Unix(), 10)
	dates := string(text)
	return append(fields, [2]string{refHeader, r.ref}, [2]string{expiresHeader, dates[:cut]}, [2]string{rememberedHeader, dates[cut:]})
}

// replay answers with what the record keeps.
func (x *exchange) replay(out refrain.Outcome) {
	if out.Status < 200 || out.Status > 999 {
		// A result recorded by another path, such as a call of refrain.Do.
		x.problem(x.w, x.r, &record.Error{Problem: record.RecordUnreadable, Row: "16", Ref: out.Ref})
		return
	}
	h := x.w.Header()
	fields := make([][2]string, 0, len(out.Header)+5)
	for _, field := range out.Header {
		if fateOf(field[0]) == keep { // also where another version recorded more
			fields = append(fields, field)
		}
	}
	if !x.settling {
		fields = append(fields, [2]string{x.ReplayedHeader, "true"})
	}
	fields = append(fields, [2]string{"Date", x.Now().UTC().Format(http.TimeFormat)})
	addFields(h, x.receipt(out).addTo(fields))
	if _, chosen := h["Cache-Control"]; !chosen {
		h["Cache-Control"] = []string{"no-store"}
	}
	if bodyAllowed(out.Status) && decoded(x.w, x.r, out.Status, out.Body) {
		return
	}
	begin(x.w, out.Status, int64(len(out.Body)), nil)
	if bodyAllowed(out.Status) {
		_, _ = x.w.Write(out.Body) // the client may be gone again
	}
}
