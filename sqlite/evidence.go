package sqlite

import (
	"encoding/json"

	"github.com/refrain-dev/refrain/record"
)

// answer is one piece of evidence as it is stored: texts that need not be UTF-8
// are bytes, or JSON would change them.
type answer struct {
	Status   int    `json:"status,omitempty"`
	Header   []byte `json:"header,omitempty"`
	Body     []byte `json:"body,omitempty"`
	Effect   []byte `json:"effect,omitempty"`
	Rejected bool   `json:"rejected,omitempty"`
	Digest   []byte `json:"digest,omitempty"`
}

func encodeEvidence(evidence []record.Result) ([]byte, error) {
	if len(evidence) == 0 {
		return nil, nil
	}
	answers := make([]answer, len(evidence))
	for i, e := range evidence {
		answers[i] = answer{e.Status, record.EncodeHeader(e.Header), e.Body, []byte(e.Effect), e.Rejected, e.Digest}
	}
	return json.Marshal(answers)
}

func decodeEvidence(text []byte) ([]record.Result, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var answers []answer
	if err := json.Unmarshal(text, &answers); err != nil {
		return nil, err
	}
	evidence := make([]record.Result, len(answers))
	for i, a := range answers {
		header, err := record.DecodeHeader(a.Header)
		if err != nil {
			return nil, err
		}
		evidence[i] = record.Result{Status: a.Status, Header: header, Body: a.Body, Effect: string(a.Effect), Rejected: a.Rejected, Digest: a.Digest}
	}
	return evidence, nil
}
