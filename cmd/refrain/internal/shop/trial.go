package shop

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/refrain-dev/refrain/refrainhttp"
)

// trial is what the page's form last sent, and what it was answered.
type trial struct {
	Tenant string
	Sent   []sent
}

type sent struct {
	Body     string
	Status   int
	Replayed bool
	Ref      string
	Answer   string
}

const maxForm = 8 << 10

// try sends the form's order twice under one fresh key, the second time
// changed where the button says so. Both go through the guarded handler.
func (s *Shop) try(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be read.", http.StatusBadRequest)
		return
	}
	first := orderBody(r.PostForm.Get("sku"), r.PostForm.Get("quantity"))
	second := first
	if r.PostForm.Get("again") == "changed" {
		second = orderBody(r.PostForm.Get("sku")+"-OTHER", r.PostForm.Get("quantity"))
	}
	s.sendAll(w, r, "/v1/orders", first, second)
}

// sendAll sends the bodies in order under one fresh key, as the tenant of the
// form, and sends the browser back to the page.
func (s *Shop) sendAll(w http.ResponseWriter, r *http.Request, target string, bodies ...string) {
	t := &trial{Tenant: r.PostForm.Get("tenant")}
	token := ""
	for _, known := range tokens {
		if known.tenant == t.Tenant {
			token = known.token
		}
	}
	if token == "" {
		http.Error(w, "There is no such tenant.", http.StatusBadRequest)
		return
	}
	key := FreshKey()
	for _, body := range bodies {
		t.Sent = append(t.Sent, s.send(r, target, token, key, body))
	}
	s.mu.Lock()
	s.last = t
	s.mu.Unlock()
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (s *Shop) lastTrial() *trial {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// orderBody takes the quantity as it was typed: whether it is one is the shop's
// to say.
func orderBody(sku, quantity string) string {
	return `{"sku":` + textOf(sku) + `,"quantity":` + numberOf(quantity) + `}`
}

func textOf(typed string) string {
	text, _ := json.Marshal(typed) // a string: cannot fail
	return string(text)
}

func numberOf(typed string) string {
	if _, whole := integer(typed); whole && json.Valid([]byte(typed)) {
		return typed
	}
	return textOf(typed)
}

func (s *Shop) send(from *http.Request, target, token, key, body string) sent {
	r, err := http.NewRequestWithContext(from.Context(), http.MethodPost, target, strings.NewReader(body))
	if err != nil { // constant method and target
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(refrainhttp.DefaultHeader, key)
	a := &answer{header: make(http.Header)}
	s.ServeHTTP(a, r)
	return sent{
		Body:     body,
		Status:   a.status,
		Replayed: a.header.Get(refrainhttp.DefaultReplayedHeader) == "true",
		Ref:      a.header.Get("Idempotency-Ref"),
		Answer:   strings.TrimSpace(a.body.String()),
	}
}

// answer is a response kept in memory.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}
