package shop

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/refrain-dev/refrain/fakeprovider"
)

// providerPath shows the provider of this process and takes its switches.
const providerPath = "/provider"

// faults are how the provider can be told to fail.
var faults = []choice{
	{string(fakeprovider.Sound), "none"},
	{string(fakeprovider.LoseAnswer), "charge, and lose the answer"},
	{string(fakeprovider.CutAnswer), "charge, and cut the answer off"},
	{string(fakeprovider.FailBefore), "500 before it charges"},
	{string(fakeprovider.FailAfter), "500 after it has charged"},
}

// delays are how slow it can be made; the longest is longer than we wait.
var delays = []time.Duration{0, time.Second, 5 * time.Second}

type choice struct{ Value, Name string }

// switchesDoc is how the provider behaves, and what it has counted.
type switchesDoc struct {
	Provider string `json:"provider"`
	Charges  int    `json:"charges"`  // that were made
	Requests int    `json:"requests"` // for one that arrived
	Fault    string `json:"fault"`
	Times    int    `json:"times"` // charges that will fail so; 0 means all
	Delay    string `json:"delay"`
	Window   string `json:"window"`
	Query    bool   `json:"query"`
}

func (t *till) describe() switchesDoc {
	var now fakeprovider.Switches
	_ = t.bank.Set(func(s *fakeprovider.Switches) { now = *s }) // changes nothing
	return switchesDoc{
		t.name, len(t.bank.Charges()), t.bank.Requests(), string(now.Fault), now.Times, now.Delay.String(), now.Window.String(), now.Query,
	}
}

func (s *Shop) showProvider(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.till.describe())
}

// setProvider takes the form of the switches: fault, once, delay, window and
// query. What is missing is as it is at the start.
func (s *Shop) setProvider(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseForm()
	var p promises
	var change func(*fakeprovider.Switches)
	if err == nil {
		p, change, err = readSwitches(r.PostForm)
	}
	if err != nil {
		http.Error(w, "The provider has no such switch.", http.StatusBadRequest)
		return
	}
	if err := s.till.set(r.Context(), p, change); err != nil {
		http.Error(w, "The provider cannot be changed now.", http.StatusServiceUnavailable)
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

var errNoSwitch = errors.New("no such switch")

func readSwitches(form url.Values) (p promises, change func(*fakeprovider.Switches), err error) {
	fault := form.Get("fault")
	if !slices.ContainsFunc(faults, func(c choice) bool { return c.Value == fault }) {
		return p, nil, errNoSwitch
	}
	delay, known := chosen(form.Get("delay"), 0, delays)
	window, offered := chosen(form.Get("window"), usualWindow, windows)
	if !known || !offered {
		return p, nil, errNoSwitch
	}
	query, times := true, 0
	for name, into := range map[string]func(bool){
		"query": func(on bool) { query = on },
		"once":  func(on bool) { times = map[bool]int{true: 1}[on] },
	} {
		if text := form.Get(name); text != "" {
			on, err := strconv.ParseBool(text)
			if err != nil {
				return p, nil, errNoSwitch
			}
			into(on)
		}
	}
	return promises{window, query}, func(s *fakeprovider.Switches) {
		s.Fault, s.Times, s.Delay, s.Window, s.Query = fakeprovider.Fault(fault), times, delay, window, query
	}, nil
}

// chosen is the duration that text names, if it is among the offered ones.
func chosen(text string, usual time.Duration, offered []time.Duration) (time.Duration, bool) {
	if text == "" {
		return usual, true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && slices.Contains(offered, d)
}
