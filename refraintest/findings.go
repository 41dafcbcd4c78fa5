package refraintest

import (
	"fmt"
	"sync"
	"testing"
)

// findings reports each fault one time, however many runs show it, and nothing
// after the check has ended: a goroutine left behind may come late.
type findings struct {
	t      testing.TB
	mu     sync.Mutex
	told   map[string]bool
	closed bool
}

func (f *findings) report(format string, args ...any) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	message := fmt.Sprintf(format, args...)
	if f.closed || f.told[message] {
		return
	}
	if f.told == nil {
		f.told = make(map[string]bool)
	}
	f.told[message] = true
	f.t.Errorf("refraintest: %s", message)
}

func (f *findings) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}
