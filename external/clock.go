package external

import "time"

// clock compares the store's time with this process's, whose date may be wrong:
// only what has passed here since is used.
type clock struct {
	store time.Time // the store's time
	local time.Time // read here before the store's time was
}

// left is how long it is until a time of the store, rather too short than too
// long. The monotonic clock may stand still while a machine is suspended, and the
// wall clock does not: the longer way counts. A wall clock that is put forward
// can so only stop what could have been sent.
func (c clock) left(until time.Time) time.Duration {
	now := time.Now()
	passed := max(now.Sub(c.local), now.Round(0).Sub(c.local.Round(0)))
	return until.Sub(c.store) - passed
}
