package shop

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	w := s.order(t, north, "k-create", `{"sku":"BOOK-1","quantity":2}`)
	made := decode[order](t, w, http.StatusCreated)
	if made.SKU != "BOOK-1" || made.Quantity != 2 || !strings.HasPrefix(made.ID, "ord_") {
		t.Errorf("answered %+v", made)
	}
	if location := w.Header().Get("Location"); location != "/v1/orders/"+made.ID {
		t.Errorf("Location %q", location)
	}
	for _, name := range []string{"Idempotency-Ref", "Idempotency-Expires", "Idempotency-Remembered"} {
		if w.Header().Get(name) == "" {
			t.Errorf("no %s field", name)
		}
	}
	if replayed := w.Header().Get("Idempotent-Replayed"); replayed != "" {
		t.Errorf("a first answer says replayed %q", replayed)
	}
}

func TestReplayOfTheSameOrderByValue(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first := s.order(t, north, "k-replay", `{"sku":"BOOK-1","quantity":2}`)
	wantStatus(t, first, http.StatusCreated)
	for _, body := range []string{
		`{"sku":"BOOK-1","quantity":2}`, `{"quantity":2.0,"sku":"BOOK-1"}`, `{ "sku": "\u0042OOK-1", "quantity": 2e0 }`, `{"sku":"BOOK-1","quantity":20e-1}`,
	} {
		w := s.order(t, north, "k-replay", body)
		if w.Code != http.StatusCreated || w.Body.String() != first.Body.String() || w.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: answered %d %s, replayed %q", body, w.Code, w.Body, w.Header().Get("Idempotent-Replayed"))
		}
	}
	if n := s.count(t, north); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
}

func TestQuantityByValueIsValid(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, quantity := range []string{"2", "2.0", "2e0"} {
		if made := decode[order](t, s.order(t, north, "k"+quantity, `{"sku":"A","quantity":`+quantity+`}`), http.StatusCreated); made.Quantity != 2 {
			t.Errorf("%s made %+v", quantity, made)
		}
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	wantStatus(t, s.order(t, north, "k-conflict", `{"sku":"A","quantity":2}`), http.StatusCreated)
	for _, body := range []string{`{"sku":"A","quantity":3}`, `{"sku":"B","quantity":2}`, `{"sku":"A","quantity":0}`} {
		wantProblem(t, s.order(t, north, "k-conflict", body), http.StatusUnprocessableEntity, "key-reused")
	}
	if n := s.count(t, north); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
}

func TestTenantsAreApart(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	one := decode[order](t, s.order(t, north, "k-shared", `{"sku":"A","quantity":1}`), http.StatusCreated)
	other := decode[order](t, s.order(t, south, "k-shared", `{"sku":"A","quantity":2}`), http.StatusCreated)
	if one.ID == other.ID {
		t.Errorf("both tenants got %s", one.ID)
	}
	wantProblem(t, s.get(t, south, "/v1/orders/"+one.ID), http.StatusNotFound, "not-found")
	if got := decode[order](t, s.get(t, north, "/v1/orders/"+one.ID), http.StatusOK); got != one {
		t.Errorf("read %+v, want %+v", got, one)
	}
}

func TestKeyIsRequired(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	wantProblem(t, s.order(t, north, "", `{"sku":"A","quantity":1}`), http.StatusBadRequest, "key-missing")
	wantProblem(t, s.order(t, north, "a b", `{"sku":"A","quantity":1}`), http.StatusBadRequest, "key-invalid")
	if n := s.count(t, north); n != 0 {
		t.Errorf("%d orders, want 0", n)
	}
}

func TestInvalidOrderLeavesItsKeyFree(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i, body := range []string{
		`{"sku":"A","quantity":0}`, `{"sku":"A","quantity":-1}`, `{"sku":"A","quantity":1.5}`, `{"sku":"A","quantity":"2"}`,
		`{"sku":"A","quantity":null}`, `{"sku":"A","quantity":1e400}`, `{"sku":"A","quantity":9223372036854775808}`, `{"sku":"A"}`,
		`{"quantity":1}`, `{"sku":"","quantity":1}`, `{"sku":null,"quantity":1}`, `{"sku":7,"quantity":1}`, `{"sku":"a\u0000b","quantity":1}`,
		`{"sku":"` + strings.Repeat("x", maxSKU+1) + `","quantity":1}`, `{"sku":"A","quantity":1,"note":"?"}`, `{"SKU":"A","quantity":1}`, `[]`, `null`, `"A"`,
	} {
		key := "k-" + string(rune('a'+i))
		if doc := wantProblem(t, s.order(t, north, key, body), http.StatusBadRequest, "invalid-order"); doc.Retryable {
			t.Errorf("%s is said to be retryable", body)
		}
		wantStatus(t, s.order(t, north, key, `{"sku":"A","quantity":1}`), http.StatusCreated)
	}
}

func TestMediaType(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded"} {
		q := request{"POST", "/v1/orders", "Bearer " + north, "k-media", media, `{"sku":"A","quantity":1}`}
		wantProblem(t, s.answers(t, q), http.StatusUnsupportedMediaType, "unsupported-media-type")
	}
	q := request{"POST", "/v1/orders", "Bearer " + north, "k-media", "application/json; charset=utf-8", `{"sku":"A","quantity":1}`}
	wantStatus(t, s.answers(t, q), http.StatusCreated)
}

func TestSoldOutIsARecordedRefusal(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first := s.order(t, north, "k-sold", `{"sku":"SOLD-OUT","quantity":1}`)
	if doc := wantProblem(t, first, http.StatusConflict, "out-of-stock"); doc.Retryable {
		t.Error("said to be retryable")
	}
	if !strings.Contains(first.Body.String(), `"retryable":false`) {
		t.Errorf("%s does not say retryable", first.Body)
	}
	again := s.order(t, north, "k-sold", `{"sku":"SOLD-OUT","quantity":1}`)
	if again.Code != http.StatusConflict || again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat got %d %s", again.Code, again.Body)
	}
	wantProblem(t, s.order(t, north, "k-sold", `{"sku":"A","quantity":1}`), http.StatusUnprocessableEntity, "key-reused")
	if n := s.count(t, north); n != 0 {
		t.Errorf("%d orders, want 0", n)
	}
}

func TestInProgress(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	inside, release := make(chan struct{}), make(chan struct{})
	s.pause = func(context.Context, time.Duration) error {
		close(inside)
		<-release
		return nil
	}
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- s.order(t, north, "k-slow", `{"sku":"A","quantity":1}`) }()
	<-inside
	again := s.order(t, north, "k-slow", `{"sku":"A","quantity":1}`)
	close(release)
	wantStatus(t, <-first, http.StatusCreated)
	if doc := wantProblem(t, again, http.StatusConflict, "in-progress"); !doc.Retryable || again.Header().Get("Retry-After") == "" {
		t.Errorf("in-progress %+v with Retry-After %q", doc, again.Header().Get("Retry-After"))
	}
	wantStatus(t, s.order(t, north, "k-slow", `{"sku":"A","quantity":1}`), http.StatusCreated)
	if n := s.count(t, north); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
}

func TestFailureLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	healthy := s.pause
	s.pause = func(context.Context, time.Duration) error { return errors.New("the disk of the warehouse is full") }
	w := s.order(t, north, "k-fails", `{"sku":"A","quantity":1}`)
	wantProblem(t, w, http.StatusInternalServerError, "handler-failed")
	if strings.Contains(w.Body.String(), "warehouse") {
		t.Errorf("the answer tells the cause: %s", w.Body)
	}
	if n := s.count(t, north); n != 0 {
		t.Errorf("%d orders after a failure, want 0", n)
	}
	s.pause = healthy
	wantStatus(t, s.order(t, north, "k-fails", `{"sku":"A","quantity":1}`), http.StatusCreated)
}

// TestOrderCannotCommitForItself: the effect of an order holds the writer, and a
// transaction of its own could not be rolled back with it. A wrapped handler
// holds none; quotes live by that.
func TestOrderCannotCommitForItself(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var inside error
	s.pause = func(ctx context.Context, _ time.Duration) error {
		inside = s.db.Update(ctx, func(context.Context, refrain.SQLTx) error { return nil })
		return nil
	}
	wantStatus(t, s.order(t, north, "k", `{"sku":"A","quantity":1}`), http.StatusCreated)
	if !errors.Is(inside, refrain.ErrNested) {
		t.Errorf("Update inside an effect: %v, want ErrNested", inside)
	}
}

// TestOrderCarriesItsRef: the business row says by itself which action made it.
func TestOrderCarriesItsRef(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	w := s.order(t, north, "k-ref", `{"sku":"A","quantity":1}`)
	wantStatus(t, w, http.StatusCreated)
	var ref string
	if err := s.db.Reader().QueryRow(`SELECT refrain_ref FROM demo_order`).Scan(&ref); err != nil {
		t.Fatal(err)
	}
	if ref != w.Header().Get("Idempotency-Ref") {
		t.Errorf("the row carries %q, the answer %q", ref, w.Header().Get("Idempotency-Ref"))
	}
}
