package main

import (
	"testing"

	"github.com/refrain-dev/refrain/examples/frameworks/contract"
)

func TestContract(t *testing.T) {
	t.Parallel()
	contract.Check(t, contract.Framework{Serve: contract.Handler(routes), Streams: true})
}
