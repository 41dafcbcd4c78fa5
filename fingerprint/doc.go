// Package fingerprint says whether two requests mean the same action.
//
// A [Print] holds two digests. Raw covers the request as it was sent; Deciding
// covers what it means: the canonical form under a named rule, or the
// contract's own normalised command (see [Meaning]). Both are SHA-256 over
// length-prefixed parts, so no two different lists of parts share a preimage.
//
// The rules, by media type unless [Options].Rule names one:
//
//   - [RuleJSON], application/json and any +json type: member order,
//     whitespace, escapes and the spelling of numbers do not matter; numbers
//     are compared by exact decimal value, so 1, 1.0 and 10e-1 agree and
//     9007199254740993 and 9007199254740992 do not. See [CanonicalJSON].
//   - [RuleForm], application/x-www-form-urlencoded: pairs are sorted by name
//     only; the values of one name keep their order.
//   - [RuleMultipart], multipart/form-data: parts in order, by name, filename,
//     content type, transfer encoding and content; the boundary does not matter.
//   - [RuleRaw]: the bytes.
//
// Nothing here keeps, alters or prints a payload.
package fingerprint
