package fingerprint

import (
	"crypto/sha256"
	"crypto/subtle"
)

// The rules of this package. A rule's meaning never changes under one name.
const (
	RuleJSON      = "json-exact/1"
	RuleForm      = "form/1"
	RuleMultipart = "multipart/1"
	RuleRaw       = "raw/1"
)

// Known reports whether this package can compute the rule. A rule given to
// [Meaning] belongs to its contract and is not known here.
func Known(rule string) bool {
	switch rule {
	case RuleJSON, RuleForm, RuleMultipart, RuleRaw:
		return true
	}
	return false
}

// Print is a request's fingerprint, as a record keeps it.
type Print struct {
	Raw      [sha256.Size]byte // the request as sent
	Deciding [sha256.Size]byte // what it means, under Rule
	Rule     string            // the rule that made Deciding, such as "json-exact/1"
	Schema   string            // the contract's schema version, covered by both digests
}

// Same reports whether p and stored are the same request: under one rule and
// one schema the deciding digests must agree, otherwise only the raw ones may.
// Digests are compared in constant time.
//
// After a deploy that changed rule or schema, the caller recomputes first:
// [Compute] with Request.Schema = stored.Schema and, if [Known], Options.Rule =
// stored.Rule. Raw covers the schema, so without that the two never agree
// across schemas. When the recomputation answers [ErrNotCanonical], compute
// with [RuleRaw]: only the raw digests may agree then.
func (p Print) Same(stored Print) bool {
	if p.Rule == stored.Rule && p.Schema == stored.Schema {
		return subtle.ConstantTimeCompare(p.Deciding[:], stored.Deciding[:]) == 1
	}
	return subtle.ConstantTimeCompare(p.Raw[:], stored.Raw[:]) == 1
}

// Meaning returns p decided by the contract's normalised command instead of
// the canonical request. rule names the contract's function and its version;
// the function may read only what p.Raw covers. A contract whose own parser is
// wider than the rule of its media type computes p with [RuleRaw].
func Meaning(p Print, rule string, command []byte) Print {
	var d preimage
	d.text("refrain/meaning/1", rule, p.Schema)
	d.digest(sha256.Sum256(command))
	p.Rule, p.Deciding = rule, d.sum()
	return p
}
