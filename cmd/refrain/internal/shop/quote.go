package shop

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// quoteSchema is the table of quotes. The ref is evidence: whoever has to decide
// about an unknown outcome looks for it here.
const quoteSchema = `CREATE TABLE IF NOT EXISTS {quotes} (
	n           {serial},
	quote_id    VARCHAR(64) NOT NULL UNIQUE,
	tenant      VARCHAR(64) NOT NULL,
	text        VARCHAR(200) NOT NULL,
	refrain_ref VARCHAR(64) NOT NULL UNIQUE
){options}`

const (
	maxText  = 200 // characters
	maxDelay = time.Hour
)

type quote struct {
	ID   string `json:"quote_id"`
	Text string `json:"text"`
	Ref  string `json:"ref"`
}

// failure is how the handler of a quote is told to fail.
type failure string

const (
	failBefore failure = "before" // 500, no row
	failAfter  failure = "after"  // 500, the row is committed
	failPanic  failure = "panic"  // no answer, the row is committed
	failHang   failure = "hang"   // blocks until its context ends, no row
)

var failures = []failure{failBefore, failAfter, failPanic, failHang}

// wish is a quote as it is asked for.
type wish struct {
	text  string
	delay time.Duration
	fail  failure
}

// parseWish reads {"text":"…","delay_ms":n,"fail":"…"}, the last two at will.
func parseWish(contentType string, body []byte) (wish, error) {
	given, err := members(contentType, body)
	if err != nil {
		return wish{}, err
	}
	var q wish
	for name, value := range given {
		switch name {
		case "text":
			q.text, err = parseText(name, value, maxText)
		case "delay_ms":
			q.delay, err = parseDelay(value)
		case "fail":
			q.fail, err = parseFailure(value)
		default:
			err = fmt.Errorf("%q is not a member of a quote", cut(name))
		}
		if err != nil {
			return wish{}, err
		}
	}
	if given["text"] == nil {
		return wish{}, errors.New("text is missing")
	}
	return q, nil
}

func parseDelay(value json.RawMessage) (time.Duration, error) {
	n, ok := integer(string(value))
	if !ok || n < 0 || n > maxDelay.Milliseconds() {
		return 0, fmt.Errorf("delay_ms must be an integer from 0 to %d", maxDelay.Milliseconds())
	}
	return time.Duration(n) * time.Millisecond, nil
}

func parseFailure(value json.RawMessage) (failure, error) {
	var f failure
	if json.Unmarshal(value, &f) != nil || !slices.Contains(failures, f) {
		return "", fmt.Errorf("fail must be one of %q", failures)
	}
	return f, nil
}
