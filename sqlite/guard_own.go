package sqlite

import "context"

var _ runner = handle{}

// exec, row and rows run the engine's own statements in the turn of a guarded handle.
// They end with it and poison it like the effect's, but may write Refrain's
// tables.
func (h handle) exec(ctx context.Context, query string, args ...any) (int64, error) {
	var changed int64
	err := h.guard.onBehalf(h.ctx(ctx), h.turn, func(own *statements) (err error) {
		changed, err = own.run(query, nil, args)
		return err
	})
	return changed, err
}

func (h handle) row(ctx context.Context, query string, read func(row) error, args ...any) error {
	return h.guard.onBehalf(h.ctx(ctx), h.turn, func(own *statements) error {
		_, err := own.run(query, read, args)
		return err
	})
}

func (h handle) rows(ctx context.Context, query string, read func(row) error, args ...any) error {
	return h.guard.onBehalf(h.ctx(ctx), h.turn, func(own *statements) error { return own.rows(query, read, args) })
}

// onBehalf runs statements of the engine's during t. The authorizer, which is
// asked while they are prepared, takes them for what they are.
func (g *guard) onBehalf(ctx context.Context, t *turn, run func(own *statements) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.admit(ctx, t); err != nil {
		return err
	}
	g.turn = nil
	err := run(&g.own)
	g.turn = t
	return g.settle(t, err)
}
