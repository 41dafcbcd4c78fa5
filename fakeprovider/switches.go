package fakeprovider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Fault is how the provider fails a charge.
type Fault string

// The faults.
const (
	// Sound: none.
	Sound Fault = ""
	// LoseAnswer: it charges, and closes the connection without a byte.
	LoseAnswer Fault = "lose-answer"
	// CutAnswer: it charges, and the connection dies in the body of the answer.
	CutAnswer Fault = "cut-answer"
	// FailBefore: it answers 500 without charging; the key stays free.
	FailBefore Fault = "fail-before"
	// FailAfter: it charges and answers 500. A repeat gets the true answer.
	FailAfter Fault = "fail-after"
)

// Switches are how the provider behaves. In JSON durations are texts, as "2s".
type Switches struct {
	Delay  time.Duration // before it acts; at most MaxDelay
	Fault  Fault         // of the next charges
	Times  int           // how many charges have Fault; 0 means all
	Window time.Duration // for which a key is known; 0 means that no key is
	Query  bool          // whether it can be asked by key; else 404
	APIKey string        // the bearer token it wants; "" means that it wants none
}

// MaxDelay bounds Switches.Delay.
const MaxDelay = time.Minute

func (s Switches) validate() error {
	switch s.Fault {
	case Sound, LoseAnswer, CutAnswer, FailBefore, FailAfter:
	default:
		return fmt.Errorf("fakeprovider: no fault %q", s.Fault)
	}
	if s.Delay < 0 || s.Delay > MaxDelay || s.Times < 0 || s.Window < 0 {
		return fmt.Errorf("fakeprovider: delay %v, times %d, window %v", s.Delay, s.Times, s.Window)
	}
	return nil
}

// admits reports whether r carries the credential.
func (s Switches) admits(r *http.Request) bool {
	return s.APIKey == "" || r.Header.Get("Authorization") == "Bearer "+s.APIKey
}

// switchesText is Switches as JSON, without the token when it is shown.
type switchesText struct {
	Delay  *string `json:"delay,omitempty"`
	Fault  *Fault  `json:"fault,omitempty"`
	Times  *int    `json:"times,omitempty"`
	Window *string `json:"window,omitempty"`
	Query  *bool   `json:"query,omitempty"`
	APIKey *string `json:"apiKey,omitempty"`
}

// MarshalJSON leaves the token out.
func (s Switches) MarshalJSON() ([]byte, error) {
	delay, window := s.Delay.String(), s.Window.String()
	return json.Marshal(switchesText{Delay: &delay, Fault: &s.Fault, Times: &s.Times, Window: &window, Query: &s.Query})
}

// UnmarshalJSON changes what is named and leaves the rest.
func (s *Switches) UnmarshalJSON(b []byte) error {
	var text switchesText
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&text); err != nil {
		return err
	}
	for _, d := range []struct {
		text *string
		to   *time.Duration
	}{{text.Delay, &s.Delay}, {text.Window, &s.Window}} {
		if d.text == nil {
			continue
		}
		parsed, err := time.ParseDuration(*d.text)
		if err != nil {
			return err
		}
		*d.to = parsed
	}
	assign(&s.Fault, text.Fault)
	assign(&s.Times, text.Times)
	assign(&s.Query, text.Query)
	assign(&s.APIKey, text.APIKey)
	return nil
}

func assign[V any](to, from *V) {
	if from != nil {
		*to = *from
	}
}
