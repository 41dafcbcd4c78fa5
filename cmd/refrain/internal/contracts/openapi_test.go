package contracts

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// described is the fragment of contracts that a guard publishes, as text and
// read back.
func described(t *testing.T, guard refrainhttp.Guard, cs ...refrain.Contract) object {
	t.Helper()
	answer := httptest.NewRecorder()
	refrainhttp.WellKnown(guard, memstore.New(memstore.Options{}), cs...).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	fragment, err := OpenAPI(answer.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(fragment)
	if err != nil {
		t.Fatal(err)
	}
	var read object
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// at walks down the fragment.
func at(t *testing.T, from any, path ...string) any {
	t.Helper()
	for _, name := range path {
		members, ok := from.(object)
		if !ok || members[name] == nil {
			t.Fatalf("no %s in %v", name, path)
		}
		from = members[name]
	}
	return from
}

func TestOpenAPIFollowsTheContract(t *testing.T) {
	t.Parallel()
	plain, odd := base(), base()
	odd.Operation, odd.Methods = "orders/close", []string{"PUT", "DELETE"}
	odd.KeyOptional, odd.KeyTime, odd.KeepDigest, odd.Async, odd.SeeOther = true, refrain.KeyTimeNone, true, true, true
	doc := described(t, refrainhttp.Guard{StatusPath: "/v1/operations", Header: "Action-Key", Strict: true, ProblemBase: "https://x.test/p"}, plain, odd)

	items := at(t, doc, "components", "pathItems")
	post := at(t, items, "orders.create", "post")
	responses := at(t, post, "responses").(object)
	for _, status := range []string{"2XX", "400", "401", "403", "409", "410", "412", "413", "422", "500", "503"} {
		if responses[status] == nil {
			t.Errorf("no answer %s", status)
		}
	}
	if responses["202"] != nil || responses["303"] != nil {
		t.Error("answers of other contracts")
	}
	key := at(t, post, "parameters").([]any)[0]
	if at(t, key, "name") != "Action-Key" || at(t, key, "required") != true || at(t, key, "in") != "header" || at(t, key, "schema", "maxLength") != 512.0 {
		t.Errorf("the key is %v", key)
	}
	if text := fmt.Sprint(responses["409"]); !strings.Contains(text, "https://x.test/p#outcome-unknown") || !strings.Contains(text, "Retry-After") {
		t.Errorf("409 is %s", text)
	}
	if text := fmt.Sprint(responses["422"]); strings.Contains(text, "Retry-After") {
		t.Errorf("422 is %s", text)
	}

	loose := at(t, items, "orders.close", "put", "responses").(object)
	if loose["202"] == nil || loose["303"] == nil {
		t.Error("no 202 or no 303 of an asynchronous contract that sees other")
	}
	text := fmt.Sprint(loose)
	for _, absent := range []string{"key-missing", "key-from-future", "response-too-large"} {
		if strings.Contains(text, absent) {
			t.Errorf("%s cannot happen", absent)
		}
	}
	key = at(t, items, "orders.close", "delete", "parameters").([]any)[0].(object)
	if key.(object)["required"] != false {
		t.Errorf("an optional key is %v", key)
	}
	if first, second := at(t, items, "orders.close", "put", "operationId"), at(t, items, "orders.close", "delete", "operationId"); first == second {
		t.Errorf("two operations are %v", first)
	}
	for _, path := range []string{"/v1/operations", "/v1/operations/{ref}", "/.well-known/idempotency"} {
		if at(t, doc, "paths", path, "get", "responses", "200") == nil {
			t.Errorf("%s is missing", path)
		}
	}
}

// Two ids that a component's name cannot tell apart stay apart.
func TestOpenAPINames(t *testing.T) {
	t.Parallel()
	a, b := base(), base()
	a.Operation, b.Operation = "a/b", "a.b"
	items := at(t, described(t, refrainhttp.Guard{}, a, b), "components", "pathItems").(object)
	if items["a.b"] == nil || items["a.b-2"] == nil {
		t.Errorf("items %v", items)
	}
}

func TestOpenAPIElsewhere(t *testing.T) {
	t.Parallel()
	doc := described(t, refrainhttp.Guard{StatusPath: "https://ops.test/v1/ops"}, base())
	if servers := at(t, doc, "paths", "/v1/ops", "servers").([]any); at(t, servers[0], "url") != "https://ops.test" {
		t.Errorf("servers %v", servers)
	}
	if paths := at(t, described(t, refrainhttp.Guard{}, base()), "paths").(object); len(paths) != 1 {
		t.Errorf("without a status: %v", paths)
	}
	for _, text := range []string{`{}`, `[]`, `{"contracts":[{}]}`, `{"contracts":[],"status":":"}`} {
		if _, err := OpenAPI([]byte(text)); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}

// The pattern says what the guard says, parameters aside.
func TestKeyPattern(t *testing.T) {
	t.Parallel()
	values := []string{"k", `"k"`, `"a b"`, `"a\"b"`, `"a\\b"`, `"a\b"`, `"`, `""`, "a b", "a,b", "a;b", `a"b`, "é", "a\\b", "'k'", "!", "~",
		strings.Repeat("a", 255), strings.Repeat("a", 256), `"` + strings.Repeat(`\\`, 255) + `"`, `"` + strings.Repeat("a", 256) + `"`}
	for c := byte(0x20); c < 0x80; c++ {
		values = append(values, "a"+string(c)+"b", `"a`+string(c)+`b"`)
	}
	for _, strict := range []bool{false, true} {
		var d document
		d.Key.Strict = strict
		pattern := regexp.MustCompile(d.keyPattern(refrain.KeyTimeByShape))
		for _, value := range values {
			_, err := refrainhttp.ParseKey([]string{value}, strict)
			if got := pattern.MatchString(value); got != (err == nil) {
				t.Errorf("strict %t: %q is matched: %t, parsed: %v", strict, value, got, err)
			}
		}
		timed := regexp.MustCompile(d.keyPattern(refrain.KeyTimeRequired))
		const uuid7 = "01938e85-1000-7000-8000-000000000001"
		got := []bool{timed.MatchString(uuid7), timed.MatchString(`"` + uuid7 + `"`), timed.MatchString("k"), timed.MatchString(`"` + uuid7)}
		if want := []bool{!strict, true, false, false}; !slices.Equal(got, want) {
			t.Errorf("strict %t: a time is required: %v, want %v", strict, got, want)
		}
	}
}
