package naked

import (
	"context"
	"errors"
	"sync"
)

// maxGroup is the greatest number of members in one transaction.
const maxGroup = 256

// group collects the callers who wait for a shared transaction. No timer:
// while one group commits, the next one gathers.
type group struct {
	mu      sync.Mutex
	waiting []*member
	led     bool
}

type member struct {
	ctx    context.Context
	key    string
	answer Answer
	err    error
	done   chan struct{} // one token per use, so that members can be used again
}

var members = sync.Pool{New: func() any { return &member{done: make(chan struct{}, 1)} }}

// Grouped is Single in a transaction shared with the other callers, a
// savepoint each, answered only after the COMMIT. A context that has ended by
// the caller's turn is the error; later it changes nothing.
func (n *Naked) Grouped(ctx context.Context, key string) (Answer, error) {
	m := members.Get().(*member)
	m.ctx, m.key = ctx, key
	if n.group.join(m) {
		go n.lead()
	}
	<-m.done
	answer, err := m.answer, m.err
	m.ctx, m.answer, m.err = nil, Answer{}, nil
	members.Put(m)
	return answer, err
}

// join queues m and tells whether the caller must start a leader.
func (g *group) join(m *member) (lead bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, m)
	lead = !g.led
	g.led = true
	return lead
}

// take moves up to maxGroup waiting members into batch; with none waiting it
// ends the leadership.
func (g *group) take(batch []*member) []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := min(len(g.waiting), maxGroup)
	batch = append(batch[:0], g.waiting[:k]...)
	g.waiting = append(g.waiting[:0], g.waiting[k:]...)
	g.led = k > 0
	return batch
}

// lead commits group after group until nobody waits.
func (n *Naked) lead() {
	var batch []*member
	for {
		n.turn.Lock()
		batch = n.group.take(batch)
		if len(batch) > 0 {
			n.commit(batch)
		}
		n.turn.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, m := range batch {
			m.done <- struct{}{}
		}
	}
}

// commit runs every member in one transaction. If that fails as a whole,
// nobody is acknowledged: each member gets the failure.
func (n *Naked) commit(batch []*member) {
	err := n.tx(context.Background(), func() error {
		for _, m := range batch {
			if err := n.run(m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for _, m := range batch {
			m.answer, m.err = Answer{}, err
		}
	}
}

// run is one member between its SAVEPOINT and its RELEASE. The error is one
// that ends the whole group; a member's own stays with it. A cancelled
// statement would roll back everybody's work, so none runs under the
// caller's context.
func (n *Naked) run(m *member) error {
	if m.err = m.ctx.Err(); m.err != nil {
		return nil
	}
	ctx := context.Background()
	if _, err := n.st.savepoint.ExecContext(ctx); err != nil {
		return err
	}
	if m.answer, m.err = n.once(ctx, m.key); m.err != nil {
		if _, err := n.st.undo.ExecContext(ctx); err != nil {
			return errors.Join(m.err, err)
		}
	}
	_, err := n.st.release.ExecContext(ctx)
	return err
}
