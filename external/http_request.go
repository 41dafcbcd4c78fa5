package external

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/refrain-dev/refrain/operation"
)

// maxRequest bounds the body Build makes of an input, in bytes.
const maxRequest = 4 * operation.MaxInput

// submission is the request of one attempt, with its key in the place the
// profile names.
func (h *HTTP) submission(ctx context.Context, s Submission) (*http.Request, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	if err := h.Profile.fits(s.Key); err != nil {
		return nil, err
	}
	r, err := h.Build(ctx, s)
	if err != nil {
		return nil, err
	}
	if r == nil || r.URL == nil || r.Header == nil {
		return nil, errors.New("external: Build made no request")
	}
	r = r.Clone(ctx) // its fields may be shared by all requests, and the key is this one's
	body, err := readBody(r.Body)
	if err != nil {
		return nil, err
	}
	p := h.Profile
	r.Method = p.method()
	if p.KeyHeader != "" {
		r.Header.Set(p.KeyHeader, s.Key)
	}
	if p.ExpiryHeader != "" && !s.NotAfter.IsZero() {
		r.Header.Set(p.ExpiryHeader, s.NotAfter.UTC().Format(http.TimeFormat))
	}
	if p.KeyField != "" {
		if body, err = withField(body, p.KeyField, s.Key); err != nil {
			return nil, err
		}
	}
	// Without GetBody the transport does not send a body again by itself. A request
	// that has none it might, and the passage alone stops that.
	r.Body, r.GetBody = http.NoBody, nil
	if len(body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	r.ContentLength, r.TransferEncoding, r.Trailer = int64(len(body)), nil, nil
	return r, nil
}

func readBody(body io.ReadCloser) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	defer body.Close()
	b, err := io.ReadAll(io.LimitReader(body, maxRequest+1))
	if err != nil {
		return nil, fmt.Errorf("external: the body Build made: %w", err)
	}
	if len(b) > maxRequest {
		return nil, fmt.Errorf("external: the body Build made exceeds %d bytes", maxRequest)
	}
	return b, nil
}

// withField puts name first into the JSON object body and leaves the rest as it
// is, byte for byte.
func withField(body []byte, name, value string) ([]byte, error) {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || object == nil {
		return nil, errors.New("external: the body Build made is no JSON object, which is where this provider's key belongs")
	}
	if _, taken := object[name]; taken {
		return nil, fmt.Errorf("external: the body Build made has a member %s of its own", name)
	}
	member, err := json.Marshal(map[string]string{name: value})
	if err != nil {
		return nil, err
	}
	rest := bytes.TrimLeft(body, " \t\r\n")[1:]
	if len(object) > 0 {
		rest = append([]byte{','}, rest...)
	}
	return append(member[:len(member)-1], rest...), nil
}

// fits says whether a key is one the provider takes, without telling it.
func (p Profile) fits(key string) error {
	least, most := max(p.Terms.KeyMin, 1), p.Terms.KeyMax
	if most == 0 {
		most = operation.MaxKey
	}
	if len(key) < least || len(key) > most {
		return fmt.Errorf("external: a key of %d bytes, and the provider takes %d to %d", len(key), least, most)
	}
	if strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return errors.New("external: a key with other than visible ASCII characters")
	}
	return nil
}
