package external

import (
	"fmt"
	"net/http"
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// Classify says what a whole answer proves. The first matching rule decides; else
// a 2xx other than 202 confirms and everything else is Lost. Whatever the rules
// say, the answer is Lost
//
//   - with 401, 403, 404 or 3xx on a repeat: it may come from a layer in front or
//     from a credential that was rotated meanwhile, and tells nothing of the first
//     attempt. No profile of this package takes one of them for a refusal of a
//     first submission either: the charge is submitted again, with the right
//     credential, while that is safe.
//   - when a rule has to look into a body that does not decode, or a confirmation
//     lacks the reference.
//
// The note names status and rule, never the body.
func (p Profile) Classify(a Answer, repeats bool) operation.Reply {
	reply := operation.Reply{
		End:        operation.Lost,
		Status:     a.Status,
		Body:       a.Body[:min(len(a.Body), operation.MaxAnswer)],
		RetryAfter: a.RetryAfter(time.Now()),
	}
	rule, readable := p.rule(a)
	reply.RetryAfter = max(reply.RetryAfter, rule.RetryAfter)
	reply.Note = fmt.Sprintf("status %d", a.Status)
	if p.Name != "" {
		reply.Note = p.Name + ": " + reply.Note
	}
	if rule.Note != "" {
		reply.Note += ": " + rule.Note
	}
	switch {
	case !readable:
		reply.Note += ": the body does not decode"
	case repeats && proxied(a.Status):
		reply.Note += ": tells nothing about an earlier attempt"
	case rule.End == operation.Confirmed:
		reply.Reference = p.reference(a)
		if p.Reference != "" && reply.Reference == "" {
			reply.Note += ": no reference where one belongs"
			break
		}
		reply.End = operation.Confirmed
	default:
		reply.End, reply.Stored, reply.Park = rule.End, rule.Stored, rule.Park
	}
	return reply
}

// rule finds what decides about a; readable is false where a body would have to
// be looked into that does not decode.
func (p Profile) rule(a Answer) (_ Rule, readable bool) {
	for _, r := range p.Rules {
		switch matches, readable := r.matches(a); {
		case !readable:
			return Rule{End: operation.Lost}, false
		case matches:
			return r, true
		}
	}
	switch {
	case a.Status == http.StatusAccepted:
		return Rule{End: operation.Lost, Note: "taken on, not decided"}, true
	case a.Status/100 == 2:
		return Rule{End: operation.Confirmed}, true
	}
	return Rule{End: operation.Lost}, true
}

func proxied(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return true
	}
	return status/100 == 3
}

func (p Profile) reference(a Answer) string {
	if p.Reference == "" {
		return ""
	}
	values, _ := a.Field(p.Reference)
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
