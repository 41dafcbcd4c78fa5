package contracts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// object is a JSON object; encoding/json writes its members by name.
type object = map[string]any

// document is what a service publishes, as far as OpenAPI needs it. What a
// database does not tell has the guard's defaults.
type document struct {
	Key struct {
		Header string `json:"header"`
		Strict bool   `json:"strict"`
	} `json:"key"`
	Replayed  string       `json:"replayed_header"`
	Status    string       `json:"status"`
	Problems  string       `json:"problems"`
	Contracts *[]Published `json:"contracts"`
	Decisions []decision   `json:"decisions"`
}

type decision struct {
	Status    int    `json:"status"`
	Problem   string `json:"problem"`
	Retryable bool   `json:"retryable"`
}

// OpenAPI turns a published document into an OpenAPI 3.1 fragment. A contract
// does not know its URL, so each operation is a path item among the components,
// to be referred to; the status endpoints and the document itself are paths.
func OpenAPI(text []byte) (object, error) {
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if doc.Contracts == nil {
		return nil, errors.New("it has no contracts")
	}
	doc.Key.Header = cmp.Or(doc.Key.Header, refrainhttp.DefaultHeader)
	doc.Replayed = cmp.Or(doc.Replayed, refrainhttp.DefaultReplayedHeader)
	doc.Problems = cmp.Or(doc.Problems, refrainhttp.DefaultProblemBase)

	// It has no row of its own: nothing is decided when a handler fails.
	doc.Decisions = append(doc.Decisions, decision{record.HandlerFailed.Status(), string(record.HandlerFailed), false})

	items := object{}
	operations := []string{}
	for _, p := range *doc.Contracts {
		operations = append(operations, p.Operation)
		items[unused(items, strings.ReplaceAll(p.Operation, "/", "."))] = doc.pathItem(p)
	}
	paths := object{refrainhttp.WellKnownPath: object{"get": object{
		"operationId": "idempotency.contracts", "summary": "The published contracts", "security": []any{},
		"responses": object{"200": object{"description": "Contracts, horizons and the decision table.",
			"content": object{"application/json": object{"schema": object{"type": "object"}}}}},
	}}}
	if err := doc.statusPaths(paths, operations); err != nil {
		return nil, err
	}
	return object{
		"openapi": "3.1.1",
		"info": object{"title": "Idempotency", "version": "1",
			"description": "A fragment to merge: refer to the path items among the components from the paths of your own document."},
		"servers":  []any{object{"url": "/"}},
		"security": []any{object{"principal": []string{}}},
		"paths":    paths,
		"components": object{
			"pathItems": items,
			"headers":   doc.headers(),
			"schemas":   schemas(),
			"securitySchemes": object{"principal": object{"type": "http", "scheme": "bearer",
				"description": "Stands for the service's own authentication; replace it."}},
		},
	}, nil
}

// unused makes a component's name that is not taken.
func unused(taken object, name string) string {
	free := name
	for n := 2; taken[free] != nil; n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

// pathItem is one guarded operation under each of its methods.
func (d *document) pathItem(p Published) object {
	item := object{}
	methods := p.Methods
	if methods == nil {
		methods = []string{"POST", "PATCH"}
	}
	for i, method := range methods {
		id := p.Operation
		if i > 0 {
			id += "." + strings.ToLower(method)
		}
		item[strings.ToLower(method)] = object{
			"operationId":   id,
			"summary":       p.Operation,
			"parameters":    []any{d.keyParameter(p.Contract)},
			"responses":     d.responses(p.Contract),
			"x-idempotency": p.Members,
		}
	}
	return item
}

// keyParameter is the key's header field.
func (d *document) keyParameter(c refrain.Contract) object {
	text := "One key per intended action, sent again with every attempt. A UUIDv7 tells its age."
	if c.KeyOptional {
		text += " Without one the request is not protected."
	}
	return object{
		"name": d.Key.Header, "in": "header", "required": !c.KeyOptional, "description": text,
		"schema": object{"type": "string", "minLength": 1, "maxLength": maxField, "pattern": d.keyPattern(c.KeyTime)},
	}
}

// maxField is a quoted key of 255 bytes, all of them escaped.
const maxField = 2*refrainhttp.MaxKey + 2

// keyPattern is narrower than the guard in one thing: parameters after a quoted
// key are ignored there and not described here.
func (d *document) keyPattern(kt refrain.KeyTime) string {
	if kt == refrain.KeyTimeRequired {
		const uuid7 = `[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-7[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}`
		if d.Key.Strict {
			return `^"` + uuid7 + `"$`
		}
		return `^(?:"` + uuid7 + `"|` + uuid7 + `)$`
	}
	const quoted = `"(?:[ !#-\[\]-~]|\\["\\]){1,255}"`
	if d.Key.Strict {
		return `^` + quoted + `$`
	}
	return `^(?:` + quoted + `|[!#-+\-.-:<-~]{1,255})$`
}

// statusPaths are asking by ref and by key, where the service says where.
func (d *document) statusPaths(paths object, operations []string) error {
	if d.Status == "" {
		return nil
	}
	at, err := url.Parse(d.Status)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	byRef := object{
		"operationId": "idempotency.status", "summary": "What is known of an action",
		"parameters": []any{object{"name": "ref", "in": "path", "required": true, "schema": refSchema()}},
		"responses":  d.statusResponses(),
	}
	byKey := object{
		"operationId": "idempotency.ask", "summary": "What is known of a key; asks and starts nothing",
		"parameters": []any{
			object{"name": "operation", "in": "query", "required": true, "schema": object{"type": "string", "enum": operations}},
			d.keyParameter(refrain.Contract{}),
		},
		"responses": d.statusResponses("key-missing", "key-invalid"),
	}
	path := "/" + strings.Trim(at.Path, "/")
	for path, operation := range map[string]object{path: byKey, strings.TrimSuffix(path, "/") + "/{ref}": byRef} {
		item := object{"get": operation}
		if at.Host != "" {
			item["servers"] = []any{object{"url": at.Scheme + "://" + at.Host}}
		}
		paths[path] = item
	}
	return nil
}

// byStatus are the decisions that are problems, those of the contract.
func (d *document) byStatus(applies func(problem string) bool) map[int][]decision {
	groups := make(map[int][]decision)
	for _, row := range d.Decisions {
		known := slices.ContainsFunc(groups[row.Status], func(other decision) bool { return other.Problem == row.Problem })
		if row.Problem != "" && !known && applies(row.Problem) {
			groups[row.Status] = append(groups[row.Status], row)
		}
	}
	return groups
}

func sortedKeys[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }
