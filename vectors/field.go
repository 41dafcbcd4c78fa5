package vectors

import "encoding/json"

// KeyField is the field lines of a key header and the key, in each mode; a nil
// key is a refusal. Its source is this project.
type KeyField struct {
	Entry
	Lines   []string `json:"lines"`
	Lenient *string  `json:"lenient"`
	Strict  *string  `json:"strict"`
}

// KeyFields returns the fields of the key header.
func KeyFields() []KeyField { return load[KeyField]("key_header.json") }

// StringItem is a field that RFC 9651 reads, or does not read, as a String item.
type StringItem struct {
	Entry
	Lines     []string          `json:"raw"`
	Expected  *string           `json:"expected"`
	Error     string            `json:"error"` // parse, or wrong-type: an Item, not a String
	Params    []json.RawMessage `json:"params"`
	Canonical []string          `json:"canonical"`
	CanFail   bool              `json:"can_fail"`
}

// Want returns the key that Refrain reads in strict mode; ok is false for a
// refusal, which is what every difference here comes to.
func (s StringItem) Want() (key string, ok bool) {
	if s.Ours == Differs || s.Expected == nil {
		return "", false
	}
	return *s.Expected, true
}

// StringItems returns the fields.
func StringItems() []StringItem { return load[StringItem]("sf_string.json") }

// StringText is a text to serialise as an RFC 9651 String, or to refuse.
type StringText struct {
	Entry
	Value    string `json:"value"`
	Expected string `json:"expected"`
	Error    string `json:"error"`
}

// Want returns the serialisation; ok is false for a refusal, which is what
// every difference here comes to.
func (s StringText) Want() (field string, ok bool) {
	return s.Expected, s.Ours == Same && s.Error == ""
}

// StringTexts returns the texts.
func StringTexts() []StringText { return load[StringText]("sf_string_serialize.json") }
