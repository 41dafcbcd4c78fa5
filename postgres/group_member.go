package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain/record"
)

// member is one run of one caller's effect, on the caller's own goroutine: a
// panic or Goexit stays there. It runs before anything is claimed and holds
// nothing meanwhile; what it queued waits for a group.
type member struct {
	group  *Group
	claim  *record.Claim
	caller context.Context
	bound  context.Context // of the effect
	rec    *record.Record
	batch  *Batch

	// What waits for the next flush; the leader's while the member waits.
	queued []*pgx.QueuedQuery
	sent   bool // in this transaction; in another one they go again
	result record.Result
	final  bool // the effect has ended well; its record goes with the last flush
	heard  bool // it was answered: to go on elsewhere its effect starts anew
	tries  int  // groups it was in that were rolled back
	got    []*batchAnswer

	wake chan verdict  // one at a time, while it waits
	done chan struct{} // closed when it has ended

	mu      sync.Mutex
	party   *party   // nil while no transaction has it
	waiting bool     // for wake
	gone    bool     // its effect failed or left its goroutine
	ended   *verdict // what became of it
}

// verdict is what a leader tells a waiting member.
type verdict struct {
	kind fate
	err  error
	now  int64 // of its record
}

type fate uint8

const (
	fateAnswered  fate = iota + 1 // its statements are; the transaction stands
	fateCommitted                 // and acknowledged
	fateAlone                     // to be run the database's own way, which decides precisely
	fateAgain                     // its group was rolled back: the effect starts anew, in another
	fateUnsure                    // nobody knows what came of a COMMIT
	fateTold                      // err
)

// submit gives the member to its group's leader, or to the queue where it has
// none, and waits for what becomes of it. Before its turn it may leave; what the
// server has been asked is waited for.
func (m *member) submit(ctx context.Context) verdict {
	m.mu.Lock()
	if m.ended != nil {
		defer m.mu.Unlock()
		return *m.ended
	}
	m.waiting = true
	p := m.party
	m.mu.Unlock()
	if p != nil {
		p.steps <- m
	} else {
		m.group.push(m)
	}
	select {
	case v := <-m.wake:
		return v
	case <-m.bound.Done():
	case <-ctx.Done():
	}
	if m.group.remove(m) {
		err := context.Cause(ctx)
		if err == nil {
			err = context.Cause(m.bound)
		}
		m.end(verdict{kind: fateTold, err: fmt.Errorf("%w: %w", record.ErrNotBegun, err)})
	}
	return <-m.wake
}

// leave tells the group's leader, if there is one, that the effect is no more.
func (m *member) leave() {
	m.mu.Lock()
	p := m.party
	tell := p != nil && m.ended == nil && !m.gone
	m.gone = true
	m.mu.Unlock()
	if tell {
		p.steps <- m
	}
}

// end tells the member what became of it, now or at its next step. Only the
// first end counts.
func (m *member) end(v verdict) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended != nil {
		return
	}
	m.ended = &v
	close(m.done)
	if m.waiting {
		m.waiting = false
		m.wake <- v
	}
}

// answer lets a waiting member go on in its transaction.
func (m *member) answer() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended == nil && m.waiting {
		m.waiting, m.heard = false, true
		m.wake <- verdict{kind: fateAnswered}
	}
}

// rejoin lets a waiting member wait for another party.
func (m *member) rejoin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.party, m.sent = nil, false
	m.tries++
}

func (m *member) left() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gone
}

// over reports whether the member has ended. Its transaction may have gone a
// moment before: then its leader is about to say what becomes of it.
func (m *member) over() bool {
	m.mu.Lock()
	p := m.party
	m.mu.Unlock()
	if p != nil && m.heard && p.decoder.over() {
		<-m.done
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended != nil
}

func (m *member) verdict() verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *m.ended
}
