package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/proof/processes"
	"github.com/refrain-dev/refrain/refrainhttp"
)

func TestMain(m *testing.M) { os.Exit(processes.Main(m)) }

// fragment is what the program prints about the service at url, or the demo.
func fragment(t *testing.T, url string) []byte {
	t.Helper()
	args := []string{"contract", "--openapi"}
	if url != "" {
		args = append(args, "--url", url)
	}
	text, err := exec.Command(processes.Program(t), args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// faults are the validator's complaints about a document.
func faults(t *testing.T, text []byte) (all []string) {
	t.Helper()
	doc, err := libopenapi.NewDocument(text)
	if err != nil {
		return []string{err.Error()}
	}
	if doc.GetVersion() != "3.1.1" {
		t.Errorf("the document is of OpenAPI %s", doc.GetVersion())
	}
	if _, err := doc.BuildV3Model(); err != nil { // follows every reference
		all = append(all, err.Error())
	}
	judge, errs := validator.NewValidator(doc)
	for _, err := range errs {
		all = append(all, err.Error())
	}
	if judge == nil {
		return all
	}
	if ok, complaints := judge.ValidateDocument(); !ok {
		for _, c := range complaints {
			all = append(all, c.Error())
		}
	}
	return all
}

// odd is a contract with everything that shows in a fragment.
func odd() refrain.Contract {
	return refrain.Contract{
		Operation: "orders/close", Schema: "2", ReplayFor: time.Hour, RememberFor: 24 * time.Hour,
		Methods: []string{"PUT", "DELETE"}, KeyOptional: true, KeyTime: refrain.KeyTimeRequired,
		Async: true, SeeOther: true, KeepDigest: true, Fields: []string{"Accept-Language"}, FreeOn: []int{404},
	}
}

func TestFragment(t *testing.T) {
	plain := refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour}
	guard := refrainhttp.Guard{StatusPath: "https://ops.example/v1/operations", Strict: true}
	service := httptest.NewServer(refrainhttp.WellKnown(guard, memstore.New(memstore.Options{}), plain, odd()))
	defer service.Close()
	for name, url := range map[string]string{"the demo": "", "a service": service.URL} {
		for _, fault := range faults(t, fragment(t, url)) {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

// The validator notices what it is asked for.
func TestFragmentOracle(t *testing.T) {
	good := string(fragment(t, ""))
	for _, broken := range []struct{ old, new string }{
		{`"#/components/schemas/Problem"`, `"#/components/schemas/Nothing"`},
		{`"in": "header"`, `"in": "trailer"`},
		{`"scheme": "bearer"`, `"scheme": 1`},
	} {
		text := strings.Replace(good, broken.old, broken.new, 1)
		if text == good {
			t.Fatalf("%s does not occur", broken.old)
		}
		if len(faults(t, []byte(text))) == 0 {
			t.Errorf("%s passed", broken.new)
		}
	}
}

// TestFragmentDescribesAnswers: what the demo's guard answers is what its
// fragment says, by the validator's judgement of real answers.
func TestFragmentDescribesAnswers(t *testing.T) {
	contract := refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour, Methods: []string{"POST"}}
	guard := refrainhttp.Guard{StatusPath: "/v1/operations", Principal: func(r *http.Request) (refrain.Scope, error) {
		if r.Header.Get("Authorization") == "" {
			return refrain.Scope{}, refrain.ErrUnauthenticated
		}
		return refrain.Tenant("north"), nil
	}}
	store := memstore.New(memstore.Options{})
	mux := http.NewServeMux()
	mux.Handle("/.well-known/idempotency", refrainhttp.WellKnown(guard, store, contract))
	mux.Handle("/v1/operations", refrainhttp.Status(guard, store, contract))
	mux.Handle("/v1/operations/", refrainhttp.Status(guard, store, contract))
	mux.Handle("POST /orders", refrainhttp.Handle(guard, store, contract, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		w.WriteHeader(http.StatusCreated)
		return nil
	}))
	service := httptest.NewServer(mux)
	defer service.Close()

	// As a person merges it: the path refers to the operation's path item.
	var doc map[string]any
	if err := json.Unmarshal(fragment(t, service.URL), &doc); err != nil {
		t.Fatal(err)
	}
	doc["paths"].(map[string]any)["/orders"] = doc["components"].(map[string]any)["pathItems"].(map[string]any)["orders.create"]
	doc["servers"] = []any{map[string]any{"url": service.URL}}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	model, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	judge, errs := validator.NewValidator(model)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	const key = "01938e85-1000-7000-8000-000000000001"
	for _, ask := range []struct {
		method, path, body, key, token string
		status                         int
		valid                          bool // the request itself
	}{
		{"POST", "/orders", "{}", key, "t", 201, true},
		{"POST", "/orders", "{}", `"` + key + `"`, "t", 201, true},
		{"POST", "/orders", `{"a":1}`, key, "t", 422, true},
		{"POST", "/orders", `{"a":1,"a":2}`, "other", "t", 400, true},
		{"POST", "/orders", "{}", "", "t", 400, false},
		{"POST", "/orders", "{}", "a,b", "t", 400, false},
		{"POST", "/orders", "{}", key, "", 401, false},
		{"GET", "/v1/operations?operation=orders.create", "", key, "t", 200, true},
		{"GET", "/v1/operations?operation=orders.create", "", "nobody's", "t", 404, true},
		{"GET", "/v1/operations/op_0000000000000000000000000000g", "", "", "t", 404, true},
	} {
		name := fmt.Sprintf("%s %s %s", ask.method, ask.path, ask.key)
		request, err := http.NewRequest(ask.method, service.URL+ask.path, strings.NewReader(ask.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		if ask.key != "" {
			request.Header.Set("Idempotency-Key", ask.key)
		}
		if ask.token != "" {
			request.Header.Set("Authorization", "Bearer "+ask.token)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != ask.status {
			t.Errorf("%s: %d, want %d", name, answer.StatusCode, ask.status)
		}
		if ok, complaints := judge.ValidateHttpRequest(request); ok != ask.valid {
			t.Errorf("%s: the request is valid: %t, want %t: %v", name, ok, ask.valid, complaints)
		}
		if ok, complaints := judge.ValidateHttpResponse(request, answer); !ok {
			t.Errorf("%s: %v", name, complaints)
			for _, c := range complaints {
				t.Logf("%+v", c)
			}
		}
		answer.Body.Close()
	}
}
