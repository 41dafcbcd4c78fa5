package external

import (
	"context"
	"time"
)

// parts are how many a bound is waited for in.
const parts = 8

// patiently bounds ctx by d of time in which this process runs. However long it is
// stopped, that counts as one part of d: who is stopped behind the send gate sends
// when it goes on, and has to hear the answer.
func patiently(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	part, left := max(d/parts, 1), d
	var t *time.Timer
	t = time.AfterFunc(time.Hour, func() { // when t is known it is set
		if left -= part; left <= 0 {
			end(context.DeadlineExceeded)
			return
		}
		t.Reset(min(part, left))
	})
	t.Reset(part)
	return ctx, func() { t.Stop(); end(nil) }
}
