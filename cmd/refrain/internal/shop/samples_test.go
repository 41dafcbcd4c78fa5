package shop

import (
	"strings"
	"testing"
)

// TestSamplesAnswerAsTheySay sends them in order.
func TestSamplesAnswerAsTheySay(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, sample := range Samples("http://demo.example") {
		q := request{sample.Method, sample.URL, sample.Header["Authorization"], sample.Header["Idempotency-Key"], sample.Header["Content-Type"], sample.Body}
		w := s.answers(t, q)
		if w.Code != sample.Status {
			t.Errorf("%s: answered %d %s, said %d", sample.Shows, w.Code, w.Body, sample.Status)
		}
		if replayed := w.Header().Get("Idempotent-Replayed") == "true"; replayed != strings.HasPrefix(sample.Shows, "replay:") {
			t.Errorf("%s: replayed %t", sample.Shows, replayed)
		}
	}
	if n, m := s.count(t, north), s.count(t, south); n != 1 || m != 1 {
		t.Errorf("%d and %d orders, want 1 and 1", n, m)
	}
}

func TestSamplesHaveFreshKeys(t *testing.T) {
	t.Parallel()
	one, other := Samples("http://a"), Samples("http://a")
	if one[0].Header["Idempotency-Key"] == other[0].Header["Idempotency-Key"] {
		t.Error("two starts share a key")
	}
	if curl := one[0].Curl(); !strings.HasPrefix(curl, "curl -i 'http://a/v1/orders' -H 'Authorization: Bearer demo-north'") {
		t.Errorf("the command is %s", curl)
	}
}
