package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// document is what a service publishes about its contracts, as far as the
// Markdown shows it.
type document struct {
	Contracts []json.RawMessage    `json:"contracts"`
	Horizons  map[string]time.Time `json:"horizons"`
	Decisions []struct {
		Row       string `json:"row"`
		When      string `json:"when"`
		Status    int    `json:"status"`
		Problem   string `json:"problem"`
		Retryable bool   `json:"retryable"`
		Effect    string `json:"effect"`
	} `json:"decisions"`
}

// markdown renders the document. The members of a contract are shown as they
// stand there, so one that this binary does not know is shown too.
func markdown(text json.RawMessage) (string, error) {
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		return "", err
	}
	if doc.Contracts == nil {
		return "", errors.New("it has no contracts")
	}
	var b strings.Builder
	b.WriteString("# Contracts\n")
	if len(doc.Contracts) == 0 {
		b.WriteString("\nNone is registered.\n")
	}
	for _, contract := range doc.Contracts {
		if err := contractTable(&b, contract, doc.Horizons); err != nil {
			return "", err
		}
	}
	b.WriteString("\n# Decisions\n\n| row | when | HTTP | problem | retryable | effect runs |\n|---|---|---|---|---|---|\n")
	for _, d := range doc.Decisions {
		status := "the handler's"
		if d.Status != 0 {
			status = fmt.Sprint(d.Status)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", cell(d.Row), cell(d.When), status, literal(d.Problem), yes(d.Retryable), cell(d.Effect))
	}
	return b.String(), nil
}

func contractTable(b *strings.Builder, contract json.RawMessage, horizons map[string]time.Time) error {
	members, err := inOrder(contract)
	if err != nil {
		return err
	}
	operation := ""
	var rows strings.Builder
	for _, m := range members {
		if m.name == "operation" {
			operation = m.value
			continue
		}
		fmt.Fprintf(&rows, "| %s | %s |\n", literal(m.name), literal(m.value))
	}
	if horizon, ok := horizons[operation]; ok {
		fmt.Fprintf(&rows, "| horizon | %s |\n", literal(horizon.UTC().Format(time.RFC3339Nano)))
	}
	fmt.Fprintf(b, "\n## %s\n\n| term | value |\n|---|---|\n%s", cell(operation), rows.String())
	return nil
}

type member struct{ name, value string }

// inOrder are the members of a JSON object in the order they are written.
func inOrder(object json.RawMessage) ([]member, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.New("a contract is not an object")
	}
	var members []member
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		members = append(members, member{fmt.Sprint(name), plain(value)})
	}
	return members, nil
}

// plain writes a value for people: strings bare, lists of strings with commas.
func plain(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	var list []string
	if json.Unmarshal(value, &list) == nil && list != nil {
		return strings.Join(list, ", ")
	}
	return string(value)
}

// cell keeps text inside its table cell.
func cell(s string) string { return strings.ReplaceAll(oneLine(s), "|", `\|`) }

func literal(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(cell(s), "`", "'") + "`"
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
