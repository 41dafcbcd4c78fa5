package fingerprint

import (
	"mime"
	"strings"
)

// media is what a Content-Type means to a fingerprint.
type media struct {
	name     string // lower case, without parameters, except a charset that is not UTF-8
	kind     string // name without any parameter; "" when malformed
	charset  string // "" for none or UTF-8
	boundary string
}

// parseMedia reads a Content-Type. A malformed one stands for itself and
// chooses no rule.
func parseMedia(contentType string) media {
	if !strings.Contains(contentType, ";") {
		kind := strings.ToLower(strings.Trim(contentType, " \t"))
		return media{name: kind, kind: kind}
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return media{name: contentType}
	}
	m := media{name: kind, kind: kind, boundary: params["boundary"]}
	// Under another charset the same bytes are another text.
	if set := strings.ToLower(params["charset"]); set != "" && set != "utf-8" && set != "utf8" {
		m.charset = set
		m.name = kind + ";charset=" + set
	}
	return m
}

// rule chooses the rule for a body of this type.
func (m media) rule() string {
	top, sub, _ := strings.Cut(m.kind, "/")
	switch {
	case m.kind == "application/json", top != "" && strings.HasSuffix(sub, "+json"):
		if m.charset != "" {
			return RuleRaw
		}
		return RuleJSON
	case m.kind == "application/x-www-form-urlencoded":
		return RuleForm
	case m.kind == "multipart/form-data":
		return RuleMultipart
	default:
		return RuleRaw
	}
}
