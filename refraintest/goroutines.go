package refraintest

import (
	"fmt"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"
)

// labelKey is the profiler label an effect runs under. Goroutines inherit it,
// so those an effect started are known from all others of the process.
const labelKey = "refraintest"

var labels atomic.Int64

func newLabel() string { return fmt.Sprintf("effect %d", labels.Add(1)) }

// lingering returns the stacks of goroutines under the label that do not end in
// time, "" if all do. Goroutines that are just ending get that time.
func lingering(label string, within time.Duration) string {
	deadline := time.Now().Add(within)
	for wait := time.Millisecond; ; wait *= 2 {
		stacks := labelled(label)
		left := time.Until(deadline)
		if stacks == "" || left <= 0 {
			return stacks
		}
		<-time.After(min(wait, left))
	}
}

// labelled reads the goroutine profile in its text form: an entry per stack,
// the labels and then the frames in comment lines.
func labelled(label string) string {
	var profile, found strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return ""
	}
	mark := fmt.Sprintf("%q:%q", labelKey, label)
	for entry := range strings.SplitSeq(profile.String(), "\n\n") {
		if !strings.Contains(entry, mark) {
			continue
		}
		found.WriteString("\tgoroutine\n") // one that has not begun has no frames
		for line := range strings.SplitSeq(entry, "\n") {
			if frame, ok := strings.CutPrefix(line, "#\t0x"); ok {
				_, frame, _ = strings.Cut(frame, "\t")
				found.WriteString("\t\t" + frame + "\n")
			}
		}
	}
	return found.String()
}
