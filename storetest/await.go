package storetest

import (
	"sync"
	"time"

	"github.com/refrain-dev/refrain"
)

// patience is how long the suite waits for what should happen at once.
const patience = 30 * time.Second

// await waits for ch and fails the property if nothing comes.
func await[V any](t interface{ Fatalf(string, ...any) }, ch <-chan V, what string) V {
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("waited %v for %s", patience, what)
		panic("unreachable")
	}
}

// background runs work on its own goroutine; the channel gives its result.
func background[V any](work func() V) <-chan V {
	ch := make(chan V, 1)
	go func() { ch <- work() }()
	return ch
}

// answer is what Execute returned.
type answer struct {
	out refrain.Outcome
	err error
}

// gate holds goroutines until it is opened.
type gate struct {
	opened chan struct{}
	open   func()
}

// gate makes one that opens at the latest when the property ends, before its
// invariants are checked: a failure must not leave the engine hanging.
func (f *fixture[T]) gate() gate {
	opened := make(chan struct{})
	open := sync.OnceFunc(func() { close(opened) })
	f.t.Cleanup(open)
	return gate{opened, open}
}
