package fakeprovider

import (
	"encoding/json"
	"io"
	"net/http"
)

// list is GET /charges: of a key, for who has the credential, or of all, for
// whoever counts.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("key")
	if key == "" {
		writeJSON(w, http.StatusOK, Report{State: Charged, Charges: s.Charges()})
		return
	}
	s.mu.Lock()
	query, admitted := s.switches.Query, s.switches.admits(r)
	s.mu.Unlock()
	switch {
	case !query:
		http.NotFound(w, r)
	case !admitted:
		fail(w, errCredential)
	default:
		writeJSON(w, http.StatusOK, s.Report(key))
	}
}

func (s *Server) showControl(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	now := s.switches
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, now)
}

// setControl is POST /control: what the body names is changed, all or nothing.
func (s *Server) setControl(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = s.set(func(next *Switches) error { return json.Unmarshal(body, next) })
	}
	if err != nil {
		fail(w, errInvalid)
		return
	}
	s.showControl(w, r)
}
