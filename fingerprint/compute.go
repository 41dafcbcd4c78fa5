package fingerprint

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
)

// DefaultMaxBody is the body limit in bytes when [Options].MaxBody is zero.
const DefaultMaxBody = 1 << 20

// Request is what a fingerprint is made of. Compute alters none of it: the
// handler can be given the same Body.
type Request struct {
	Method          string
	Target          string      // as sent; raw only, unless Route is empty
	ContentType     string      // the whole field
	ContentEncoding string      // the whole field
	Route           string      // the matched pattern; empty: the path of Target as sent
	PathValues      [][2]string // names and decoded values, in the pattern's order
	Query           string      // raw, without the "?"
	Fields          [][2]string // every header field the contract may read: name, value
	Schema          string      // the contract's schema version
	Body            []byte      // as received, before any content coding is undone
}

// Options chooses how a request is compared. The zero value works.
type Options struct {
	Rule       string // one of the Rule… constants; empty: by media type
	ExactNames bool   // admit JSON names that differ only by case folding
	MaxBody    int64  // bytes, encoded and decoded; 0: DefaultMaxBody; negative: none
}

// Compute returns the fingerprint of a request, or an error that is
// [ErrNotCanonical] (as a [SyntaxError]), [ErrBodyTooLarge] or [ErrUnknownRule].
//
// A gzip or deflate body is compared decoded; a body under any other coding as
// bytes, by [RuleRaw] whatever Options.Rule says. A JSON body that is empty or
// blank is a value of its own, equal to neither null nor {}. A JSON media type
// with a charset other than UTF-8 is compared by [RuleRaw].
func Compute(req Request, opts Options) (Print, error) {
	limit := opts.MaxBody
	switch {
	case limit == 0:
		limit = DefaultMaxBody
	case limit < 0:
		limit = math.MaxInt64
	}
	if int64(len(req.Body)) > limit {
		return Print{}, ErrBodyTooLarge
	}
	media := parseMedia(req.ContentType)
	rule := opts.Rule
	if rule == "" {
		rule = media.rule()
	}
	if !Known(rule) {
		return Print{}, fmt.Errorf("%w: %q", ErrUnknownRule, rule)
	}
	query, err := parsePairs("query", req.Query)
	if err != nil {
		return Print{}, err
	}
	content, coding, err := decode(req.Body, req.ContentEncoding, limit)
	if err != nil {
		return Print{}, err
	}
	if coding != "" {
		rule = RuleRaw
	}
	body, err := digestBody(content, rule, media, opts.ExactNames)
	if err != nil {
		return Print{}, err
	}
	fields := normalFields(req.Fields)

	raw := make(preimage, 0, 512)
	raw.text("refrain/raw/1", req.Method, req.Target, req.ContentType, req.ContentEncoding, req.Schema)
	raw.pairs(fields)
	raw.digest(sha256.Sum256(req.Body))

	canonical := make(preimage, 0, 512)
	canonical.text("refrain/canonical/1", rule, req.Method, route(req))
	canonical.pairs(req.PathValues)
	canonical.pairs(query)
	canonical.pairs(fields)
	canonical.text(media.name, coding, req.Schema)
	canonical.digest(body)

	return Print{Raw: raw.sum(), Deciding: canonical.sum(), Rule: rule, Schema: req.Schema}, nil
}

// Bytes returns the fingerprint of a call that came without a request: its
// input of any length under rule, [RuleRaw] if empty. Errors are those of [Compute].
func Bytes(rule, schema string, input []byte) (Print, error) {
	return Compute(Request{Schema: schema, Body: input}, Options{Rule: rule, MaxBody: -1})
}

func digestBody(content []byte, rule string, m media, exactNames bool) ([sha256.Size]byte, error) {
	switch rule {
	case RuleJSON:
		if isBlank(content) {
			return sha256.Sum256(nil), nil
		}
		return digestJSON(content, exactNames)
	case RuleForm:
		return digestForm(content)
	case RuleMultipart:
		return digestMultipart(content, m.boundary)
	default:
		return sha256.Sum256(content), nil
	}
}

// route is the matched pattern. Without one the path as sent stands in for it:
// two paths are never the same request because nobody named a route.
func route(req Request) string {
	if req.Route != "" {
		return req.Route
	}
	path, _, _ := strings.Cut(req.Target, "?")
	return path
}

// normalFields lower-cases names (RFC 9110 §5.1) and sorts by name; the values
// of one name keep their order.
func normalFields(fields [][2]string) [][2]string {
	normal := slices.Clone(fields)
	for i := range normal {
		normal[i][0] = strings.ToLower(normal[i][0])
	}
	sortByName(normal)
	return normal
}
