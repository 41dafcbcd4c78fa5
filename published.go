package refrain

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/record"
)

// IdentityVersion names what the identity of this contract's records is made
// of. A store that holds another version for the operation executes nothing.
func (c Contract) IdentityVersion() string {
	if c.Dimensions == nil {
		return "tenant[,subject]"
	}
	return strings.Join(c.Dimensions, ",")
}

// published is the form a contract is shown, stored and compared in.
type published struct {
	Operation       string   `json:"operation"`
	Schema          string   `json:"schema"`
	IdentityVersion string   `json:"identity"`
	ReplayFor       string   `json:"replay_for"`
	RememberFor     string   `json:"remember_for"`
	KeyTime         string   `json:"key_time"`
	Skew            string   `json:"skew"`
	KeyRequired     bool     `json:"key_required"`
	Methods         []string `json:"methods"`
	Fields          []string `json:"fields,omitempty"`
	Rule            string   `json:"rule,omitempty"`
	ExactNames      bool     `json:"exact_names,omitempty"`
	MaxBody         int64    `json:"max_body"`
	MaxResponse     int64    `json:"max_response"`
	Oversize        string   `json:"oversize"`
	Gone            int      `json:"gone"`
	Async           bool     `json:"async"`
	Mode            string   `json:"mode"`
	UntimedAtFence  string   `json:"untimed_at_fence"`
	Wait            string   `json:"wait"`
	MaxExecution    string   `json:"max_execution"`
	Lease           string   `json:"lease"`
	OnLost          string   `json:"on_lost"`
	FreeOn          []int    `json:"free_on,omitempty"`
}

// MarshalJSON is the published form: defaults put in, durations in ISO 8601,
// sizes in bytes. It is what the well-known document shows and the store keeps.
func (c Contract) MarshalJSON() ([]byte, error) {
	p := c.Policy()
	methods := c.Methods
	if methods == nil {
		methods = []string{"POST", "PATCH"}
	}
	return json.Marshal(published{
		c.Operation, c.Schema, c.IdentityVersion(), isoDuration(c.ReplayFor), isoDuration(c.RememberFor),
		c.KeyTime.String(), isoDuration(p.Skew), !c.KeyOptional, methods,
		c.Fields, pick(c.MeaningRule != "", c.MeaningRule, c.Rule), c.ExactNames, c.BodyLimit(), p.MaxResult,
		pick(c.KeepDigest, "digest", "refuse"), pick(c.SeeOther, 303, 410), c.Async,
		pick(c.Observe, "observe", "enforce"), pick(c.RunUntimed, "execute", "review"),
		isoDuration(p.Wait), isoDuration(p.MaxExecution), isoDuration(p.Lease),
		pick(c.RerunLost, "rerun", "unknown"), c.FreeOn,
	})
}

// UnmarshalJSON reads the published form. What is not published stays zero; a
// rule that names a Meaning is kept as MeaningRule, so such a contract can be
// compared and shown, but does not validate.
func (c *Contract) UnmarshalJSON(b []byte) error {
	var p published
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	read := Contract{
		Operation: p.Operation, Schema: p.Schema, KeyOptional: !p.KeyRequired, Methods: p.Methods, Fields: p.Fields,
		ExactNames: p.ExactNames, MaxBody: orNone(p.MaxBody), MaxResponse: orNone(p.MaxResponse),
		KeepDigest: p.Oversize == "digest", SeeOther: p.Gone == 303, Async: p.Async, Observe: p.Mode == "observe",
		RunUntimed: p.UntimedAtFence == "execute", RerunLost: p.OnLost == "rerun", FreeOn: p.FreeOn,
	}
	if p.IdentityVersion != (Contract{}).IdentityVersion() && p.IdentityVersion != "" {
		read.Dimensions = strings.Split(p.IdentityVersion, ",")
	}
	if fingerprint.Known(p.Rule) || p.Rule == "" {
		read.Rule = p.Rule
	} else {
		read.MeaningRule = p.Rule
	}
	kt, ok := record.ParseKeyTime(p.KeyTime)
	if !ok {
		return fmt.Errorf("refrain: published contract of %q: key time %q", p.Operation, p.KeyTime)
	}
	read.KeyTime = kt
	for _, d := range []struct {
		text string
		into *time.Duration
	}{
		{p.ReplayFor, &read.ReplayFor}, {p.RememberFor, &read.RememberFor}, {p.Skew, &read.Skew},
		{p.Wait, &read.Wait}, {p.MaxExecution, &read.MaxExecution}, {p.Lease, &read.Lease},
	} {
		if d.text == "" {
			continue
		}
		v, err := parseISODuration(d.text)
		if err != nil {
			return fmt.Errorf("refrain: published contract of %q: %w", p.Operation, err)
		}
		*d.into = orNone(v)
	}
	*c = read
	return nil
}

// orNone turns a published zero into the "none" a contract writes as negative.
func orNone[N int64 | time.Duration](v N) N {
	if v == 0 {
		return -1
	}
	return v
}

// BodyLimit is MaxBody with its default put in.
func (c Contract) BodyLimit() int64 { return orDefault(c.MaxBody, DefaultMaxBody) }

func pick[V any](yes bool, a, b V) V {
	if yes {
		return a
	}
	return b
}

// isoDuration writes d as an ISO 8601 duration in days, hours, minutes and
// seconds with a decimal fraction. Zero is PT0S.
func isoDuration(d time.Duration) string {
	const day = 24 * time.Hour
	days, clock := d/day, d%day
	iso := "P"
	if days > 0 {
		iso += strconv.FormatInt(int64(days), 10) + "D"
	}
	if clock == 0 && days > 0 {
		return iso
	}
	iso += "T"
	hours, minutes, seconds := clock/time.Hour, clock%time.Hour/time.Minute, clock%time.Minute
	if hours > 0 {
		iso += strconv.FormatInt(int64(hours), 10) + "H"
	}
	if minutes > 0 {
		iso += strconv.FormatInt(int64(minutes), 10) + "M"
	}
	if seconds > 0 || clock == 0 {
		iso += isoSeconds(seconds) + "S"
	}
	return iso
}

// parseISODuration is the inverse of isoDuration; years and months have no fixed
// length and are refused.
func parseISODuration(s string) (time.Duration, error) {
	var d time.Duration
	rest, ok := strings.CutPrefix(s, "P")
	units := map[byte]time.Duration{'D': 24 * time.Hour}
	for ok && rest != "" {
		if rest[0] == 'T' && len(units) == 1 {
			units = map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second}
			rest = rest[1:]
			continue
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if end <= 0 || units[rest[end]] == 0 {
			ok = false
			break
		}
		n, err := time.ParseDuration(rest[:end] + "s") // exact for up to nine decimals
		if err != nil || n > 0 && units[rest[end]]/time.Second > maxMemory/n {
			ok = false
			break
		}
		d += n * (units[rest[end]] / time.Second)
		rest = rest[end+1:]
	}
	if !ok || s == "P" || strings.HasSuffix(s, "T") {
		return 0, fmt.Errorf("%q is no duration in days, hours, minutes and seconds", s)
	}
	return d, nil
}

// isoSeconds writes d below one minute in seconds, exact to the nanosecond.
func isoSeconds(d time.Duration) string {
	s := fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
