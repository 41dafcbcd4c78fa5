package refrainhttp

import (
	"crypto/sha256"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
)

// passOn sends the head of the answer and what was kept of its body; from here
// on a digest is all that is kept.
func (s *stream) passOn() {
	if s.passing.Swap(true) {
		return
	}
	s.sum = sha256.New()
	s.sniff()
	if s.reachable() {
		s.head()
	}
	s.forward(s.body.mem)
	s.body.mem = nil
}

// head is the status line and the fields, with the ref unless the handler has
// said already that its key is free.
func (s *stream) head() {
	fields := slices.Concat(s.kept, s.once)
	if s.length >= 0 && bodyAllowed(s.status) {
		fields = append(fields, [2]string{"Content-Length", strconv.FormatInt(s.length, 10)})
	}
	for _, names := range s.header["Trailer"] {
		fields = append(fields, [2]string{"Trailer", names})
	}
	var behind receipt
	if !s.x.attempt.frees() {
		behind = s.x.attempt.mark()
	}
	addFields(s.x.w.Header(), behind.addTo(fields))
	s.x.w.WriteHeader(s.status)
}

// forward writes p to the client while there is one.
func (s *stream) forward(p []byte) {
	s.sum.Write(p)
	if len(p) == 0 || !s.reachable() {
		return
	}
	if _, err := s.x.w.Write(p); err != nil {
		s.gone = true
	}
}

// inform sends a 1xx answer with the fields as they stand now; the final answer
// begins anew.
func (s *stream) inform(status int) {
	s.informed = true
	if !s.reachable() {
		return
	}
	h := s.x.w.Header()
	before := h.Clone()
	kept, once := sortFields(s.header, s.marker)
	addFields(h, append(kept, once...))
	s.x.w.WriteHeader(status)
	clear(h)
	maps.Copy(h, before)
}

// trail passes the trailers on: the announced ones, and those with the prefix
// (see [http.TrailerPrefix]).
func (s *stream) trail() {
	if !s.reachable() {
		return
	}
	h := s.x.w.Header()
	for _, line := range s.header["Trailer"] {
		for name := range strings.SplitSeq(line, ",") {
			name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
			if values, set := s.header[name]; set {
				h[name] = values
			}
		}
	}
	for name, values := range s.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			h[name] = values
		}
	}
}
