package upkeep_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/upkeep"
)

func TestSigned(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	for _, tt := range []struct {
		words string
		fine  bool
	}{{"ann", true}, {long, true}, {" ann ", true}, {"", false}, {" ", false}, {"\t\n", false}, {"\u00a0", false}, {long + "x", false}} {
		for _, err := range []error{upkeep.Signed(tt.words, "restored"), upkeep.Signed("ann", tt.words)} {
			if tt.fine != (err == nil) || err != nil && !errors.Is(err, upkeep.ErrUnsigned) {
				t.Errorf("%.10q: %v", tt.words, err)
			}
		}
	}
}
