package shop

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestSamplesAnswerAsTheySay sends them in order, and does by hand what the
// command between them does.
func TestSamplesAnswerAsTheySay(t *testing.T) {
	t.Parallel()
	config := patient
	config.Wait = time.Second
	s := runShop(t, newFile(t), config)
	ref := ""
	for _, sample := range Samples("http://demo.example", "sqlite:shop.db") {
		if sample.Command != "" {
			if !strings.HasPrefix(sample.Command, "refrain ops resolve REF --db sqlite:shop.db --as confirmed --status 201 ") {
				t.Errorf("the command is %s", sample.Command)
			}
			s.resolve(t, ref, http.StatusCreated)
			continue
		}
		r := httptest.NewRequest(sample.Method, strings.Replace(sample.URL, "REF", ref, 1), strings.NewReader(sample.Body))
		for name, value := range sample.Header {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != sample.Status {
			t.Errorf("%s: answered %d %s, said %d", sample.Shows, w.Code, w.Body, sample.Status)
		}
		again := strings.HasPrefix(sample.Shows, "replay:") || strings.HasPrefix(sample.Shows, "resolved:")
		if replayed := w.Header().Get("Idempotent-Replayed") == "true"; replayed != again {
			t.Errorf("%s: replayed %t", sample.Shows, replayed)
		}
		if _, state, told := strings.Cut(sample.Shows, "the state is "); told && !strings.Contains(w.Body.String(), `"state":"`+state+`"`) {
			t.Errorf("%s: answered %s", sample.Shows, w.Body)
		}
		if charges, counts := strings.CutPrefix(sample.Shows, "count: charges "); counts && !strings.Contains(w.Body.String(), `"charges":`+charges[:1]+`,`) {
			t.Errorf("%s: answered %s", sample.Shows, w.Body)
		}
		if w.Code == http.StatusConflict && strings.HasPrefix(sample.Shows, "unknown:") {
			ref = wantProblemRef(t, w, "outcome-unknown")
		}
		if w.Code == http.StatusAccepted {
			ref = decode[actionDoc](t, w, http.StatusAccepted).Ref
		}
	}
	if n, m := s.count(t, north), s.count(t, south); n != 1 || m != 1 {
		t.Errorf("%d and %d orders, want 1 and 1", n, m)
	}
	if quotes := s.listedQuotes(t, north); quotes.Count != 2 {
		t.Errorf("quotes %+v, want 2", quotes)
	}
	if payments := s.paymentsOf(t, north); payments.Count != 4 {
		t.Errorf("payments %+v, want 4", payments)
	}
}

func TestSamplesHaveFreshKeys(t *testing.T) {
	t.Parallel()
	one, other := Samples("http://a", "sqlite:a.db"), Samples("http://a", "sqlite:a.db")
	for i := range one {
		if key := one[i].Header["Idempotency-Key"]; key != "" && key == other[i].Header["Idempotency-Key"] {
			t.Errorf("%s: two starts share a key", one[i].Shows)
		}
	}
	if line := one[0].Line(); !strings.HasPrefix(line, "curl -i 'http://a/v1/orders' -H 'Authorization: Bearer demo-north'") {
		t.Errorf("the command is %s", line)
	}
}
