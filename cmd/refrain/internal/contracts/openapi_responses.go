package contracts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

func reference(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

// responses are the answers to a guarded request: the handler's, or one of ours.
func (d *document) responses(c refrain.Contract) object {
	receipt := object{
		d.Replayed:               reference("headers", "Replayed"),
		"Idempotency-Ref":        reference("headers", "Ref"),
		"Idempotency-Expires":    reference("headers", "Expires"),
		"Idempotency-Remembered": reference("headers", "Remembered"),
	}
	all := object{"2XX": object{"description": "The handler's answer, or its replay.", "headers": receipt}}
	for status, rows := range d.byStatus(func(problem string) bool { return happens(problem, c) }) {
		all[strconv.Itoa(status)] = d.problem(status, rows)
	}
	if c.Async {
		all["202"] = object{
			"description": "An earlier request with this key has not finished; its state.",
			"headers": object{
				"Idempotency-Ref": reference("headers", "Ref"), "Idempotency-Status": reference("headers", "Status"),
				"Retry-After": reference("headers", "RetryAfter"), "Location": reference("headers", "Location"),
			},
			"content": object{"application/json": object{"schema": reference("schemas", "Status")}},
		}
	}
	if c.SeeOther {
		seen := d.problem(303, []decision{{Status: 303, Problem: string(record.ResultGone)}})
		seen["headers"].(object)["Location"] = reference("headers", "Location")
		all["303"] = seen
	}
	return all
}

// happens reports whether requests of the contract can meet the problem.
func happens(problem string, c refrain.Contract) bool {
	switch record.Problem(problem) {
	case record.KeyMissing:
		return !c.KeyOptional
	case record.KeyFromFuture:
		return c.KeyTime != refrain.KeyTimeNone
	case record.ResponseTooLarge:
		return !c.KeepDigest
	}
	return true
}

func (d *document) statusResponses(problems ...string) object {
	problems = append(problems, string(record.PrincipalMissing), string(record.Forbidden),
		string(record.PrincipalUnproven), string(record.StoreUnavailable))
	all := object{
		"200": object{"description": "What is known of the action.",
			"content": object{"application/json": object{"schema": reference("schemas", "Status")}}},
		"404": d.problem(404, []decision{{Status: 404, Problem: "not-found"}}),
	}
	for status, rows := range d.byStatus(func(problem string) bool { return slices.Contains(problems, problem) }) {
		all[strconv.Itoa(status)] = d.problem(status, rows)
	}
	return all
}

// problem is an answer of ours with one status. The field Idempotency-Status
// tells it from a handler's.
func (d *document) problem(status int, rows []decision) object {
	var names, types []string
	headers := object{"Idempotency-Status": reference("headers", "Status")}
	for _, row := range rows {
		names = append(names, row.Problem)
		types = append(types, d.Problems+"#"+row.Problem)
		if row.Retryable {
			headers["Retry-After"] = reference("headers", "RetryAfter")
		}
	}
	if status == 401 {
		headers["WWW-Authenticate"] = object{"description": "The challenge.", "schema": object{"type": "string"}}
	}
	return object{
		"description": strings.Join(names, ", ") + ". Idempotency-Status tells it from an answer of the handler.",
		"headers":     headers,
		"content": object{"application/problem+json": object{"schema": object{"allOf": []any{
			reference("schemas", "Problem"),
			object{"properties": object{"type": object{"enum": types}, "status": object{"const": status}}},
		}}}},
	}
}

func (d *document) headers() object {
	field := func(text string, schema object) object { return object{"description": text, "schema": schema} }
	date := func() object { return object{"type": "string", "pattern": `^@-?[0-9]{1,15}$`} }
	names := []string{}
	rows := d.byStatus(func(string) bool { return true })
	for _, status := range sortedKeys(rows) {
		for _, row := range rows[status] {
			names = append(names, row.Problem)
		}
	}
	return object{
		"Replayed":   field("This is the stored answer of an earlier request.", object{"type": "string", "const": "true"}),
		"Ref":        field("The record behind the answer.", refSchema()),
		"Expires":    field("The end of replay, an RFC 9651 date.", date()),
		"Remembered": field("The end of memory, an RFC 9651 date.", date()),
		"Status":     field("The problem, in answers that are not the handler's.", object{"type": "string", "enum": append(names, "not-found")}),
		"RetryAfter": field("Seconds after which the same request may be sent again.", object{"type": "integer", "minimum": 1}),
		"Location":   field("Where the action can be asked about, or its effect seen.", object{"type": "string", "format": "uri-reference"}),
	}
}

func refSchema() object {
	return object{"type": "string", "pattern": `^op_[0-9a-hjkmnp-tv-z]{29}$`}
}

func schemas() object {
	text := func(format string) object { return object{"type": "string", "format": format} }
	states := []string{}
	for state := record.Accepted; state <= record.Rejected; state++ {
		states = append(states, state.String())
	}
	state := object{"type": "string", "enum": states}
	return object{
		"Problem": object{
			"description": "RFC 9457, with members of our own.",
			"type":        "object", "required": []string{"type", "title", "status", "instance", "retryable"},
			"properties": object{
				"type": text("uri"), "title": object{"type": "string"}, "status": object{"type": "integer"},
				"detail": object{"type": "string"}, "instance": text("uri"),
				"retryable": object{"type": "boolean", "description": "Whether the same request may be sent again with the same key."},
				"ref":       refSchema(), "state": state, "effect": object{"type": "string"},
				"key_time": text("date-time"), "now": text("date-time"), "status_url": text("uri-reference"),
			},
		},
		"Status": object{
			"description": "What is known of an action. Times that are not fixed yet are absent.",
			"type":        "object", "required": []string{"operation", "state"},
			"properties": object{
				"ref": refSchema(), "operation": object{"type": "string"}, "state": state, "disputed": object{"type": "boolean"},
				"created_at": text("date-time"), "replay_until": text("date-time"), "remember_until": text("date-time"),
				"effect": object{"type": "string"},
			},
		},
	}
}
