package refrain

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// IdentityVersion names what the identity of this contract's records is made
// of. A store that holds another version for the operation executes nothing.
func (c Contract) IdentityVersion() string {
	if c.Dimensions == nil {
		return "tenant[,subject]"
	}
	return strings.Join(c.Dimensions, ",")
}

// MarshalJSON is the published form: defaults put in, durations in ISO 8601,
// sizes in bytes. It is what the well-known document shows and the store keeps.
func (c Contract) MarshalJSON() ([]byte, error) {
	p := c.policy()
	methods := c.Methods
	if methods == nil {
		methods = []string{"POST", "PATCH"}
	}
	return json.Marshal(struct {
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
		MaxBody         int64    `json:"max_body"`
		MaxResponse     int64    `json:"max_response"`
		Oversize        string   `json:"oversize"`
		Gone            int      `json:"gone"`
		Async           bool     `json:"async"`
		Mode            string   `json:"mode"`
		UntimedAtFence  string   `json:"untimed_at_fence"`
		Wait            string   `json:"wait"`
		MaxExecution    string   `json:"max_execution"`
	}{
		c.Operation, c.Schema, c.IdentityVersion(), isoDuration(c.ReplayFor), isoDuration(c.RememberFor),
		c.KeyTime.String(), isoDuration(p.Skew), !c.KeyOptional, methods,
		c.Fields, pick(c.MeaningRule != "", c.MeaningRule, c.Rule), c.BodyLimit(), p.MaxResult,
		pick(c.KeepDigest, "digest", "refuse"), pick(c.SeeOther, 303, 410), c.Async,
		pick(c.Observe, "observe", "enforce"), pick(c.RunUntimed, "execute", "review"),
		isoDuration(p.Wait), isoDuration(p.MaxExecution),
	})
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

// isoSeconds writes d below one minute in seconds, exact to the nanosecond.
func isoSeconds(d time.Duration) string {
	s := fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
