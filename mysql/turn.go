package mysql

import (
	"context"
	"database/sql"
	"sync"
)

// turn is one effect's ownership of a connection while it runs.
type turn struct {
	base context.Context // of the effect; ends with it

	mu     sync.Mutex
	over   bool
	poison error // the first fatal error; every later statement repeats it
	wrote  bool
}

type turnKey struct{}

func turnOf(ctx context.Context) *turn {
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t
}

// finish ends the turn: whoever still holds its handle gets [sql.ErrTxDone].
func (t *turn) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
}

// check refuses a statement after the turn or after a fatal error.
func (t *turn) check() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return sql.ErrTxDone
	}
	return t.poison
}

// spoil keeps the first fatal error.
func (t *turn) spoil(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.poison == nil {
		t.poison = err
	}
	return err
}

// admit refuses a statement whose context has ended, which is as fatal as one
// that its context cut short: ignored, it would leave half of the effect.
func (t *turn) admit(ctx context.Context) error {
	if err := t.check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return t.spoil(err)
	}
	return nil
}

// settle looks at the error of a statement of t.
func (t *turn) settle(err error) error {
	if fatal(err) {
		return t.spoil(err)
	}
	return err
}

// note remembers that rows were, or may have been, written.
func (t *turn) note(wrote bool) {
	if wrote {
		t.mu.Lock()
		t.wrote = true
		t.mu.Unlock()
	}
}

// verdict is what the turn leaves behind.
func (t *turn) verdict() (poison error, wrote bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.poison, t.wrote
}
