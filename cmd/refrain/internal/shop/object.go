package shop

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"
)

var errMediaType = errors.New("the media type must be application/json")

// members reads the members of one JSON object. Their names are compared as
// they are: encoding/json would take "SKU" for "sku".
func members(contentType string, body []byte) (map[string]json.RawMessage, error) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return nil, errMediaType
	}
	var found map[string]json.RawMessage
	if err := json.Unmarshal(body, &found); err != nil || found == nil {
		return nil, errors.New("the body must be one JSON object")
	}
	return found, nil
}

// parseText reads a string of 1 to most characters, none of them a control.
func parseText(name string, value json.RawMessage, most int) (string, error) {
	var text *string
	if json.Unmarshal(value, &text) != nil || text == nil || *text == "" ||
		utf8.RuneCountInString(*text) > most || strings.ContainsFunc(*text, unicode.IsControl) {
		return "", fmt.Errorf("%s must be a string of 1 to %d characters", name, most)
	}
	return *text, nil
}

// cut keeps what an answer repeats of a request short.
func cut(s string) string {
	const most = 64
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
