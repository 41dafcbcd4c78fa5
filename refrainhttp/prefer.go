package refrainhttp

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
)

// preferredWait reads the wait preference in seconds (RFC 7240 §4.3). The
// first one counts; anything malformed is ignored, as preferences are.
func preferredWait(h http.Header) (time.Duration, bool) {
	for _, line := range h["Prefer"] {
		for part := range strings.SplitSeq(line, ",") {
			part, _, _ = strings.Cut(part, ";")
			name, value, _ := strings.Cut(part, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
			return time.Duration(seconds) * time.Second, err == nil
		}
	}
	return 0, false
}

// shorterWait is Contract.Wait cut to what the client prefers, never longer.
func shorterWait(contract, preferred time.Duration) time.Duration {
	if contract == 0 {
		contract = refrain.DefaultWait
	}
	if preferred >= contract {
		return contract
	}
	if preferred == 0 {
		return -1 // a negative duration means none
	}
	return preferred
}
