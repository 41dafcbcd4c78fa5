package storetest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/refrain-dev/refrain/operation"
)

// TestComplete: a field that the suite leaves unset is one whose loss nobody
// would notice.
func TestComplete(t *testing.T) {
	op := complete(operation.Operation{}, epoch)
	var unset []string
	var look func(path string, v reflect.Value)
	look = func(path string, v reflect.Value) {
		switch {
		case v.IsZero():
			unset = append(unset, path)
		case v.Kind() == reflect.Pointer:
			look(path, v.Elem())
		case v.Kind() == reflect.Slice:
			look(path, v.Index(v.Len()-1))
		case v.Kind() == reflect.Struct && v.Type().PkgPath() == reflect.TypeFor[operation.Operation]().PkgPath():
			for i := range v.NumField() {
				look(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
		}
	}
	look("", reflect.ValueOf(op))
	// Due is zero in a final state; the others are given by the property or the store.
	want := []string{".Ref", ".Seq", ".Version", ".Action", ".Step", ".Provider", ".Partition", ".Input", ".Created", ".Due"}
	if !slices.Equal(unset, want) {
		t.Errorf("unset %v, want %v", unset, want)
	}
}
