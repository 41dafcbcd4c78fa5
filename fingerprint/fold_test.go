package fingerprint

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"unicode"
)

// Two names fold together if and only if encoding/json stores the one in a
// field tagged with the other.
func TestFoldingIsThatOfEncodingJSON(t *testing.T) {
	t.Parallel()
	decodes := func(tag, name string) bool {
		field := reflect.StructField{Name: "F", Type: reflect.TypeFor[int](), Tag: reflect.StructTag(fmt.Sprintf(`json:"%s"`, tag))}
		v := reflect.New(reflect.StructOf([]reflect.StructField{field}))
		if err := json.Unmarshal(fmt.Appendf(nil, `{%q:1}`, name), v.Interface()); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		return v.Elem().Field(0).Int() == 1
	}
	folds := func(one, two string) bool {
		_, reason := outcome(t, fmt.Appendf(nil, `{"%s":1,"%s":2}`, one, two), false)
		return reason == string(ReasonFoldedName)
	}
	compared := 0
	for r := rune('A'); r <= 0x24FF; r++ {
		if !unicode.IsLetter(r) || unicode.SimpleFold(r) == r && r%16 != 0 {
			continue
		}
		for _, other := range []rune{unicode.SimpleFold(r), unicode.ToUpper(r), unicode.ToLower(r), r + 1, r + 32} {
			if other == r || !unicode.IsLetter(other) {
				continue
			}
			one, two := "x"+string(r), "X"+string(other)
			if decodes(one, two) != folds(one, two) {
				t.Errorf("%q and %q: encoding/json merges them: %v", one, two, decodes(one, two))
			}
			compared++
		}
	}
	if compared < 1000 {
		t.Errorf("only %d pairs compared", compared)
	}
}
