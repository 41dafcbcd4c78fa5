package shop

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/timeline"
	"github.com/refrain-dev/refrain/record"
)

// maxStatusWait bounds how long asking about an action waits for its outcome.
const maxStatusWait = 10 * time.Second

// action adds to what the library says of an action the timelines of its external
// operations. The library decides who is told anything; a refusal of it goes out
// as it is. With Prefer: wait=N (RFC 7240 §4.3) an action that is not settled is
// awaited for so many seconds.
func (s *Shop) action(status http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told := asked(status, r)
		if wait := preferredWait(r.Header.Get("Prefer")); wait > 0 && told.open() {
			_ = s.till.await(r.Context(), told.Ref, wait) // the next answer tells
			told = asked(status, r)
		}
		if told.Ref != "" {
			all, err := s.db.Operations().Of(r.Context(), told.Ref)
			if err != nil {
				writeProblem(w, notReadable, "")
				return
			}
			if len(all) > 0 {
				told.add("external", timeline.All(all))
			}
		}
		told.send(w)
	})
}

// told is an answer of the library's, and whose it is: Ref is "" unless the caller
// may see the action.
type told struct {
	answer
	Ref, State string
}

func asked(status http.Handler, r *http.Request) *told {
	t := &told{answer: answer{header: make(http.Header)}}
	status.ServeHTTP(t, r)
	if t.status == http.StatusOK {
		_ = json.Unmarshal(t.body.Bytes(), t) // of a HEAD there is no body
	}
	return t
}

func (t *told) open() bool {
	state, known := record.ParseState(t.State)
	return t.Ref != "" && known && !state.Final()
}

// add puts a member at the end of the document.
func (t *told) add(name string, value any) {
	text, err := json.Marshal(value)
	if err != nil { // documents of strings, numbers and times
		panic(err)
	}
	document := bytes.TrimSuffix(bytes.TrimSpace(t.body.Bytes()), []byte("}"))
	t.body = *bytes.NewBuffer(append(document, `,"`+name+`":`+string(text)+"}\n"...))
	t.header.Del("Content-Length")
}

func (t *told) send(w http.ResponseWriter) {
	for name, values := range t.header {
		w.Header()[name] = values
	}
	w.WriteHeader(t.status)
	_, _ = w.Write(t.body.Bytes())
}

// preferredWait reads wait=N of a preference, at most maxStatusWait.
func preferredWait(prefer string) time.Duration {
	text, is := strings.CutPrefix(strings.TrimSpace(prefer), "wait=")
	seconds, err := strconv.Atoi(text)
	if !is || err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(min(seconds, 3600))*time.Second, maxStatusWait)
}
