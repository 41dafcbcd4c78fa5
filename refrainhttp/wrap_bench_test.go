package refrainhttp_test

import (
	"testing"

	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// BenchmarkWrap stands beside [BenchmarkBare]: the guard, a goroutine for the
// handler and two changes of the memory engine.
func BenchmarkWrap(b *testing.B) {
	benchmarkOrder(b, refrainhttp.Wrap(guard, memstore.New(memstore.Options{}), orders, bareHandler()))
}
