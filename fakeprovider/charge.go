package fakeprovider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	maxBody = 64 << 10 // bytes of a request
	maxKey  = 255      // bytes of a key
)

// charge is POST /charges.
func (s *Server) charge(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	o, invalid := readOrder(w, r, key)
	mine, replayed, now, err := s.arrive(r, key, o, invalid)
	switch {
	case err != nil:
		fail(w, err)
		return
	case replayed != nil:
		w.Header().Set("Idempotent-Replayed", "true")
		answer(w, *replayed)
		return
	}
	fault := s.work(r.Context(), key, mine, now)
	switch fault {
	case LoseAnswer:
		panic(http.ErrAbortHandler)
	case FailBefore, FailAfter:
		fail(w, errInternal)
	case CutAnswer:
		cut(w, mine)
	default:
		answer(w, *mine)
	}
}

var (
	errCredential = errors.New("credential")
	errInternal   = errors.New("internal")
	errInvalid    = errors.New("invalid")
)

func readOrder(w http.ResponseWriter, r *http.Request, key string) (o order, err error) {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	if err := d.Decode(&o); err != nil {
		return o, errInvalid
	}
	if len(key) > maxKey || o.Account == "" || o.Amount <= 0 || len(o.Currency) != 3 {
		return o, errInvalid
	}
	return o, nil
}

// arrive counts a request and claims its key; without one each request is new.
func (s *Server) arrive(r *http.Request, key string, o order, invalid error) (mine, replayed *entry, now time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	now = s.now()
	switch {
	case !s.switches.admits(r):
		return nil, nil, now, errCredential
	case invalid != nil:
		return nil, nil, now, invalid
	case key == "" && len(s.ledger.charges) >= MaxCharges:
		return nil, nil, now, errFull
	case key == "":
		return &entry{order: o, at: now, state: Pending}, nil, now, nil
	}
	mine, replayed, err = s.ledger.claim(key, o, now, s.switches.Window)
	if replayed != nil {
		known := *replayed
		replayed = &known
	}
	return mine, replayed, now, err
}

// work waits, acts, and says how the charge fails. A client that hangs up ends the
// wait, not the charge: the request has arrived. Close ends both.
func (s *Server) work(ctx context.Context, key string, mine *entry, now time.Time) Fault {
	s.mu.Lock()
	delay, fault := s.switches.Delay, s.switches.Fault
	if fault != Sound && s.switches.Times > 0 {
		if s.switches.Times--; s.switches.Times == 0 {
			s.switches.Fault = Sound
		}
	}
	s.mu.Unlock()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-s.closed:
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		s.ledger.free(key, mine)
		return LoseAnswer
	default:
	}
	if fault == FailBefore {
		s.ledger.free(key, mine)
		return fault
	}
	s.ledger.act(key, mine, strings.HasPrefix(mine.order.Account, "declined"), now)
	return fault
}

// answer tells what became of a charge.
func answer(w http.ResponseWriter, e entry) {
	if e.state == Declined {
		writeJSON(w, http.StatusPaymentRequired, problem{Error: errorText{Code: "declined"}})
		return
	}
	writeJSON(w, http.StatusCreated, e.charge)
}

// cut sends the half of an answer.
func cut(w http.ResponseWriter, e *entry) {
	b, err := json.Marshal(e.charge)
	if err == nil {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(b[:len(b)/2])
		_ = http.NewResponseController(w).Flush()
	}
	panic(http.ErrAbortHandler)
}

type problem struct {
	Error errorText `json:"error"`
}

type errorText struct {
	Code string `json:"code"`
}

// fail answers with an error and its code.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, errCredential):
		status = http.StatusUnauthorized
	case errors.Is(err, errInvalid):
		status = http.StatusBadRequest
	case errors.Is(err, errReused):
		status = http.StatusUnprocessableEntity
	case errors.Is(err, errFull):
		status = http.StatusInsufficientStorage
	case errors.Is(err, errInUse):
		status = http.StatusConflict
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, status, problem{Error: errorText{Code: err.Error()}})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	b, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "internal", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, string(b)+"\n")
}
