// Package adapt is what routers that do not speak net/http need in order to
// stand around a middleware that does.
package adapt

import (
	"net/http"
	"strings"
)

// Route tells r which route was matched, in the syntax of http.ServeMux: a
// segment ":name" is "{name}" and the last one, "*" or "*name", is "{name...}".
// Then the decoded values of the path are part of what the request means, and
// r.PathValue finds them.
func Route(r *http.Request, pattern string, value func(name string) string) {
	segments := strings.Split(pattern, "/")
	for i, segment := range segments {
		name, rest := "", ""
		switch {
		case strings.HasPrefix(segment, ":"):
			name = segment[1:]
		case strings.HasPrefix(segment, "*") && i == len(segments)-1:
			name, rest = segment[1:], "..."
			if name == "" {
				name = "*"
			}
		default:
			continue
		}
		r.SetPathValue(name, value(name))
		segments[i] = "{" + name + rest + "}"
	}
	r.Pattern = strings.Join(segments, "/")
}
