package operation

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/refrain-dev/refrain/record"
)

// Reply is how an attempt ended, as its provider's profile classified it.
type Reply struct {
	End        End           // NotSent, Refused, Lost or Confirmed
	At         time.Time     // when it was taken, which the transition sets
	Reference  string        // the provider's own id of the effect, "" where it gives none; at most MaxNote bytes
	Status     int           // HTTP status, 0 without one
	Body       []byte        // the answer's body, at most MaxAnswer bytes
	Note       string        // what a person should know, at most MaxNote bytes; no key and no payload
	Stored     bool          // a refusal that the provider has stored for this key as the answer of the first attempt
	RetryAfter time.Duration // not before; as the provider asked, at most MaxRetryAfter
	Park       bool          // NotSent or Lost, and trying again by machine is no use: a person looks first
}

// received is the reply as it is kept: within bounds, and text that survives
// being stored.
func (r Reply) received(now time.Time) Reply {
	r.At = record.Micro(now)
	r.Reference, r.Note = cut(r.Reference), cut(r.Note)
	r.Body = r.Body[:min(len(r.Body), MaxAnswer)]
	r.RetryAfter = min(max(r.RetryAfter, 0), MaxRetryAfter)
	return r
}

// cut makes s valid UTF-8 of at most MaxNote bytes.
func cut(s string) string {
	if len(s) > MaxNote {
		end := MaxNote
		for end > MaxNote-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end]
	}
	return strings.ToValidUTF8(s, "?")
}
