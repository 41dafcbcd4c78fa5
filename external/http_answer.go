package external

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// maxRead bounds how much of an answer's body is read, in bytes.
const maxRead = 1 << 20

// Answer is what a provider answered over HTTP. Of a body larger than 1 MiB the
// beginning is kept, which no longer decodes.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// errSwitched: such a body is the connection, and no context ends its reading.
var errSwitched = errors.New("external: the provider speaks another protocol now")

// readAnswer needs the whole body: a part of one proves nothing.
func readAnswer(r *http.Response) (Answer, error) {
	if r.StatusCode == http.StatusSwitchingProtocols {
		return Answer{Status: r.StatusCode}, errSwitched
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRead))
	a := Answer{Status: r.StatusCode, Header: r.Header, Body: body}
	if err != nil {
		return a, fmt.Errorf("the body of an answer with status %d: %w", r.StatusCode, err)
	}
	return a, nil
}

// Field returns the texts that stand at path in a JSON body: names separated by
// dots, * for every element of an array, as in "errors.*.code". Numbers and
// booleans are returned as they are written. decodes is false where the body is
// not one JSON value.
func (a Answer) Field(path string) (values []string, decodes bool) {
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return nil, false
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, false
	}
	return appendField(nil, value, strings.Split(path, ".")), true
}

func appendField(found []string, value any, path []string) []string {
	if len(path) == 0 {
		switch v := value.(type) {
		case string:
			return append(found, v)
		case json.Number, bool:
			return append(found, fmt.Sprint(v))
		}
		return found
	}
	switch v := value.(type) {
	case map[string]any:
		if member, ok := v[path[0]]; ok {
			return appendField(found, member, path[1:])
		}
	case []any:
		if path[0] == "*" {
			for _, element := range v {
				found = appendField(found, element, path[1:])
			}
		}
	}
	return found
}

// RetryAfter is how long the provider asks to wait (RFC 9110 §10.2.3), at most a
// day; 0 means that it does not say. A date is read against the answer's own
// Date, so that no clock of ours decides; without one against now.
func (a Answer) RetryAfter(now time.Time) time.Duration {
	text := strings.TrimSpace(a.Header.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if !strings.ContainsFunc(text, func(c rune) bool { return c < '0' || c > '9' }) {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(operation.MaxRetryAfter/time.Second) {
			return operation.MaxRetryAfter // it only fails when there are too many digits
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(a.Header.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), operation.MaxRetryAfter)
}
