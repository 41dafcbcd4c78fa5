package refrainhttp

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// preferredWait reads the wait preference in seconds (RFC 7240 §4.3) as
// Call.Wait: zero without one, negative for none. The first one counts; anything
// malformed is ignored, as preferences are.
func preferredWait(h http.Header) time.Duration {
	for _, line := range h["Prefer"] {
		for part := range strings.SplitSeq(line, ",") {
			part, _, _ = strings.Cut(part, ";")
			name, value, _ := strings.Cut(part, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
			switch {
			case err != nil:
				return 0
			case seconds == 0:
				return -1
			}
			return time.Duration(seconds) * time.Second
		}
	}
	return 0
}
