package tiny

import "testing"

func TestWithin(t *testing.T) {
	if Within(3, 3) || Within(-1, 3) || !Within(2, 3) {
		t.Error("bounds")
	}
}

func TestWait(t *testing.T) {
	Wait(make(chan struct{}))
}
