package external

import (
	"fmt"

	"github.com/refrain-dev/refrain/operation"
)

// provider is what it has done and what it remembers.
type provider struct {
	charges int
	kept    operation.Reply // its answer to the key; End is Open without one
	since   int             // the tick at which it first met the key
}

// meets takes the first byte of a submission at now; charge is whether it would
// perform a new one. It returns its answer.
func (p *provider) meets(k kind, charge bool, now int) operation.Reply {
	if k.terms.Dedupes && p.kept.End != operation.Open && now-p.since < window {
		again := p.kept
		again.Stored = again.End == operation.Refused
		return again
	}
	answer := operation.Reply{End: operation.Refused, Status: 402}
	if charge {
		p.charges++
		answer = operation.Reply{End: operation.Confirmed, Reference: fmt.Sprint("ch_", p.charges)}
		if k.nameless {
			answer.Reference = ""
		}
	}
	if charge || k.stores && p.kept.End == operation.Open {
		p.kept, p.since = answer, now
	}
	return answer
}

// asked is what it says of the key.
func (p *provider) asked(k kind, now int) operation.Finding {
	if p.kept.End == operation.Open || k.terms.Dedupes && now-p.since >= window {
		return operation.Finding{}
	}
	return operation.Finding{Found: true, Reply: p.kept}
}
