package storetest

import (
	"runtime"
	"strings"
	"time"
)

// population is the goroutines that ran at one moment, by their heading's id.
type population map[string]string

func goroutines() population {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	found := population{}
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		id, _, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " ")
		found[id] = stack
	}
	return found
}

// leaked returns the stacks of goroutines that began after p, belong to the
// engine or to what it called, and do not end within five seconds.
func (p population) leaked() []string {
	deadline := time.NewTimer(5 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		var left []string
		for id, stack := range goroutines() {
			if _, old := p[id]; !old && !tests(stack) {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return nil
		}
		select {
		case <-again.C:
		case <-deadline.C:
			return left
		}
	}
}

// tests reports a goroutine of the testing package or the runtime's own.
func tests(stack string) bool {
	_, creator, made := strings.Cut(stack, "created by ")
	return !made || strings.HasPrefix(creator, "testing.") || strings.HasPrefix(creator, "runtime")
}
