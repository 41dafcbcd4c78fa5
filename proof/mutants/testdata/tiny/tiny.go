// Package tiny is what the runner's own test breaks.
package tiny

// Within reports whether n lies in [0, limit).
func Within(n, limit int) bool {
	if n < 0 {
		return false
	}
	return n < limit
}

// Double is tested by nobody, so breaking it goes unseen.
func Double(n int) int {
	return n * 2
}

// Wait returns at once.
func Wait(c chan struct{}) {
	close(c)
	<-c
}
