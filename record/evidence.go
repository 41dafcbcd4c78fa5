package record

import "encoding/json"

// testimony is one piece of evidence as it is stored: texts that need not be UTF-8
// are bytes, or JSON would change them.
type testimony struct {
	Status   int    `json:"status,omitempty"`
	Header   []byte `json:"header,omitempty"`
	Body     []byte `json:"body,omitempty"`
	Effect   []byte `json:"effect,omitempty"`
	Rejected bool   `json:"rejected,omitempty"`
	Digest   []byte `json:"digest,omitempty"`
}

// EncodeEvidence is the stored form of [Record.Evidence], nil for none.
func EncodeEvidence(evidence []Result) ([]byte, error) {
	if len(evidence) == 0 {
		return nil, nil
	}
	answers := make([]testimony, len(evidence))
	for i, e := range evidence {
		answers[i] = testimony{e.Status, EncodeHeader(e.Header), e.Body, []byte(e.Effect), e.Rejected, e.Digest}
	}
	return json.Marshal(answers)
}

// DecodeEvidence is the inverse of EncodeEvidence.
func DecodeEvidence(text []byte) ([]Result, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var answers []testimony
	if err := json.Unmarshal(text, &answers); err != nil {
		return nil, err
	}
	evidence := make([]Result, len(answers))
	for i, a := range answers {
		header, err := DecodeHeader(a.Header)
		if err != nil {
			return nil, err
		}
		evidence[i] = Result{Status: a.Status, Header: header, Body: a.Body, Effect: string(a.Effect), Rejected: a.Rejected, Digest: a.Digest}
	}
	return evidence, nil
}
