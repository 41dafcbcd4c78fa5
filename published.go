package refrain

import (
	"encoding/json"
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
		[]string{"by-shape", "ulid", "none", "required"}[c.KeyTime&3], isoDuration(p.Skew), !c.KeyOptional, methods,
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

// isoDuration writes d as an ISO 8601 duration in days, hours, minutes and seconds.
func isoDuration(d time.Duration) string {
	days := d / (24 * time.Hour)
	clock := strings.ToUpper((d % (24 * time.Hour)).String())
	switch {
	case days == 0:
		return "PT" + trimZero(clock)
	case d%(24*time.Hour) == 0:
		return "P" + itoa(int64(days)) + "D"
	}
	return "P" + itoa(int64(days)) + "DT" + trimZero(clock)
}

func itoa(n int64) string { b, _ := json.Marshal(n); return string(b) }

// trimZero drops the zero parts time.Duration prints after a larger unit.
func trimZero(s string) string {
	if cut, ok := strings.CutSuffix(s, "M0S"); ok {
		s = cut + "M"
	}
	if cut, ok := strings.CutSuffix(s, "H0M"); ok {
		s = cut + "H"
	}
	return s
}
