package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errSilent: the server has not answered what the engine asks before an effect.
// Nothing was done, and the connection is given up.
var errSilent = errors.New("postgres: the server did not answer in time")

// soon bounds what comes before an effect by Options.Busy: a server that has
// stopped or is cut off holds nobody for longer.
func (o Options) soon(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= o.Busy {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, o.Busy, errSilent)
}

// unheard names the reason of an error that came of soon's bound.
func unheard(ctx context.Context, err error) error {
	if err != nil && context.Cause(ctx) == errSilent {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	return err
}
