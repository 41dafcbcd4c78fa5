package refraintest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/refrain-dev/refrain"
)

// comparable is what a run answered, without what rightly differs.
func (c *check[T]) comparable(r *run) refrain.Result {
	result := withoutRef(r.result, r.ref)
	if c.Normalise != nil {
		result = c.Normalise(result)
	}
	return result
}

// withoutRef replaces the action's ref, which is new in each run.
func withoutRef(result refrain.Result, ref string) refrain.Result {
	if ref == "" {
		return result
	}
	const ours = "{ref}"
	result.Body = bytes.ReplaceAll(result.Body, []byte(ref), []byte(ours))
	result.Effect = strings.ReplaceAll(result.Effect, ref, ours)
	result.Header = slices.Clone(result.Header)
	for i := range result.Header {
		result.Header[i][1] = strings.ReplaceAll(result.Header[i][1], ref, ours)
	}
	return result
}

// difference says how b differs from a, "" if it does not. The order of fields
// of different names does not matter.
func difference(a, b refrain.Result) string {
	a.Header, b.Header = byName(a.Header), byName(b.Header)
	switch {
	case a.Rejected != b.Rejected:
		return fmt.Sprintf("rejected is %t, it was %t", b.Rejected, a.Rejected)
	case a.Status != b.Status:
		return fmt.Sprintf("the status is %d, it was %d", b.Status, a.Status)
	case !bytes.Equal(a.Body, b.Body):
		return fmt.Sprintf("the body is %s, it was %s", brief(b.Body), brief(a.Body))
	case a.Effect != b.Effect:
		return fmt.Sprintf("the effect reference is %q, it was %q", b.Effect, a.Effect)
	case !slices.Equal(a.Header, b.Header):
		return fmt.Sprintf("the header is %q, it was %q", b.Header, a.Header)
	}
	return ""
}

func byName(fields [][2]string) [][2]string {
	sorted := slices.Clone(fields)
	slices.SortStableFunc(sorted, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return sorted
}

// brief quotes a body, cut where it is long.
func brief[S string | []byte](body S) string {
	const most = 200
	if len(body) > most {
		return fmt.Sprintf("%q… (%d bytes)", string(body[:most]), len(body))
	}
	return fmt.Sprintf("%q", string(body))
}
