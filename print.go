package refrain

import (
	"encoding/json"
	"fmt"

	"github.com/refrain-dev/refrain/fingerprint"
)

// Fingerprint returns what makes req the same request as another one under this
// contract: its rule and schema, or its meaning if it declares one. req.Schema
// is set from the contract; maxBody bounds a decoded body, negative is unbounded.
// Errors are those of [fingerprint.Compute] and of Contract.Meaning.
func (c Contract) Fingerprint(req fingerprint.Request, maxBody int64) (fingerprint.Print, error) {
	return c.printUnder(req, c.Rule, c.MeaningRule, c.Schema, maxBody)
}

// Recompute returns the deciding digest of req under the rule and schema of an
// older record; ok is false where this binary does not know them.
func (c Contract) Recompute(req fingerprint.Request, rule, schema string, maxBody int64) (digest [32]byte, ok bool) {
	var print fingerprint.Print
	var err error
	switch {
	case c.Meaning != nil && rule == c.MeaningRule:
		print, err = c.printUnder(req, c.Rule, rule, schema, maxBody)
	case fingerprint.Known(rule):
		print, err = c.printUnder(req, rule, "", schema, maxBody)
	default:
		return digest, false
	}
	return print.Deciding, err == nil
}

func (c Contract) printUnder(req fingerprint.Request, rule, meaning, schema string, maxBody int64) (fingerprint.Print, error) {
	req.Schema = schema
	print, err := fingerprint.Compute(req, fingerprint.Options{Rule: rule, ExactNames: c.ExactNames, MaxBody: maxBody})
	if err != nil || meaning == "" {
		return print, err
	}
	command, err := c.Meaning(req)
	return fingerprint.Meaning(print, meaning, command), err
}

// print fingerprints the call's input, unless the caller has done it. Bytes are
// compared as they are and marshalled values as JSON, where the contract does
// not say otherwise.
func (c *Call) print() (fingerprint.Print, error) {
	if c.Print != nil {
		return *c.Print, nil
	}
	contract, input := c.Contract, []byte(nil)
	byDefault := fingerprint.RuleRaw
	switch in := c.Input.(type) {
	case []byte:
		input = in
	case nil:
	default:
		var err error
		if input, err = json.Marshal(in); err != nil {
			return fingerprint.Print{}, fmt.Errorf("refrain: the call's input: %w", err)
		}
		byDefault = fingerprint.RuleJSON
	}
	if contract.Rule == "" {
		contract.Rule = byDefault
	}
	req := fingerprint.Request{Body: input}
	if c.Recompute == nil {
		c.Recompute = func(rule, schema string) ([32]byte, bool) { return contract.Recompute(req, rule, schema, -1) }
	}
	print, err := contract.Fingerprint(req, -1)
	if err != nil {
		return print, &Error{Problem: ErrBodyNotCanonical, Row: "13", Err: err}
	}
	return print, nil
}
