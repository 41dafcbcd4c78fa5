package refrainhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/fingerprint"
)

// TestBodyReadByALayer: a body that somebody around the guard has read cannot
// be compared. It is refused, never taken for an empty one.
func TestBodyReadByALayer(t *testing.T) {
	t.Parallel()
	const form, multi = "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
	part := "--b\r\nContent-Disposition: form-data; name=\"amount\"\r\n\r\n%d\r\n--b--\r\n"
	file := strings.Replace(part, `"amount"`, `"amount"; filename="a"`, 1)
	for name, tt := range map[string]struct {
		media, body string
		read        func(r *http.Request)
		status      int
	}{
		"nobody":             {form, "amount=%d", func(*http.Request) {}, 201},
		"FormValue":          {form, "amount=%d", func(r *http.Request) { r.FormValue("csrf") }, 400},
		"ParseMultipartForm": {multi, part, func(r *http.Request) { _ = r.ParseMultipartForm(1 << 20) }, 400},
		"a form of files":    {multi, file, func(r *http.Request) { _ = r.ParseMultipartForm(1 << 20) }, 400},
		"to its end":         {"application/json", `{"amount":%d}`, func(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }, 400},
		"nothing to read":    {form, "", func(r *http.Request) { r.FormValue("csrf") }, 201},
	} {
		for _, declared := range []bool{true, false} {
			if name == "to its end" && !declared {
				continue // nothing tells such a body from an empty one
			}
			c := orders
			c.Rule = fingerprint.RuleRaw // which takes an empty body of any media type
			s := open(t, c, place)
			guarded := s.http
			s.http = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				tt.read(r)
				guarded.ServeHTTP(w, r)
			})
			for amount := range 2 {
				body := tt.body
				if strings.Contains(body, "%d") {
					body = fmt.Sprintf(body, amount)
				}
				r := httptest.NewRequest("POST", "/orders", strings.NewReader(body))
				if !declared {
					r.ContentLength = -1
				}
				r.Header.Set("Content-Type", tt.media)
				r.Header.Set("Idempotency-Key", fmt.Sprint("secret", amount))
				res := s.do(r)
				if res.StatusCode != tt.status {
					t.Errorf("%s, declared %t = %d", name, declared, res.StatusCode)
				}
				if tt.status == 400 {
					wantProblem(t, res, 400, "body-not-canonical")
				}
			}
		}
	}
}
