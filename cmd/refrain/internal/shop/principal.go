package shop

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/refrain-dev/refrain"
)

// The demo's bearer tokens and their tenants. They are no secrets.
var tokens = [...]struct{ token, tenant string }{
	{"demo-north", "north"},
	{"demo-south", "south"},
}

const challenge = `Bearer realm="refrain demo"`

// principal maps a bearer token (RFC 6750 §2.1) to its tenant. Digests are
// compared, in constant time, so neither content nor length of a token leaks.
func principal(r *http.Request) (refrain.Scope, error) {
	lines := r.Header["Authorization"]
	if len(lines) != 1 {
		return refrain.Scope{}, refrain.ErrUnauthenticated
	}
	scheme, given, _ := strings.Cut(lines[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return refrain.Scope{}, refrain.ErrUnauthenticated
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	tenant := ""
	for _, t := range tokens {
		known := sha256.Sum256([]byte(t.token))
		if subtle.ConstantTimeCompare(sum[:], known[:]) == 1 {
			tenant = t.tenant
		}
	}
	if tenant == "" {
		return refrain.Scope{}, refrain.ErrUnauthenticated
	}
	return refrain.Tenant(tenant), nil
}

// tenant is the caller of an unguarded route; ok is false when 401 was answered.
func (s *Shop) tenant(w http.ResponseWriter, r *http.Request) (tenant string, ok bool) {
	scope, err := principal(r)
	if err != nil {
		w.Header().Set("WWW-Authenticate", challenge)
		writeProblem(w, anonymous, "")
		return "", false
	}
	return scope.Get("tenant"), true
}
