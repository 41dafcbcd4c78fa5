package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain/record"
)

// party is one transaction and its members. Its leader owns the connection; the
// members' goroutines meet it at their steps.
type party struct {
	group   *Group
	conn    *pgxpool.Conn
	members []*member
	steps   chan *member // whose next flush is due, or who is gone
	decoder decoder

	waits  bool // COMMIT waits for the standbys
	moment seen // what the transaction's claims told of it
	spoilt bool // the connection is not to be used again

	detached bool // one slow member by itself, whose leader leads nobody else
}

// form makes members one party.
func (g *Group) form(members []*member) *party {
	p := &party{group: g, steps: make(chan *member, len(members))}
	for _, m := range members {
		m.mu.Lock()
		m.party = p
		m.mu.Unlock()
		p.members = append(p.members, m)
	}
	return p
}

// lead takes the party through its flushes. Every member is told its end.
func (p *party) lead() {
	conn, err := p.group.db.admit()
	if err != nil {
		for _, m := range p.members {
			m.end(verdict{kind: fateTold, err: err})
		}
		return
	}
	p.conn = conn
	defer p.release()
	if p.ready() {
		p.all()
		return
	}
	if !p.claim() {
		return
	}
	for {
		under := make(map[*member]bool) // the leader's note: a member that goes on changes
		for _, m := range p.members {
			if !m.final {
				under[m] = true
			}
		}
		for m := range under {
			m.answer()
		}
		if !p.gather(under) {
			return
		}
		if p.ready() {
			p.rest()
			return
		}
		if !p.flush(p.queued(nil)) {
			return
		}
	}
}

// admit borrows a connection unless too many COMMITs have no answer.
func (db *DB) admit() (*pgxpool.Conn, error) {
	if n := db.late.n.Load(); n >= db.most {
		return nil, fmt.Errorf("postgres: %d COMMITs wait for their answer: %w", n, record.ErrNotBegun)
	}
	return db.acquire(context.Background())
}

// ready reports whether all effects have ended: one flush is left.
func (p *party) ready() bool {
	return !slices.ContainsFunc(p.members, func(m *member) bool { return !m.final })
}

// gather waits until every effect under way has come to its next step.
func (p *party) gather(under map[*member]bool) bool {
	timer := time.NewTimer(p.group.stall)
	defer timer.Stop()
	var out []*member
	for len(under) > 0 {
		select {
		case m := <-p.steps:
			delete(under, m)
			if m.left() {
				out = append(out, m)
			}
		case <-timer.C:
			for m := range under {
				p.group.setApart(m.claim.Identity.Operation)
				if len(p.members) == 1 && !p.detached {
					p.detached = true // it is in nobody's way, and others get another leader
					p.group.replace()
					deadline, _ := m.bound.Deadline()
					timer.Reset(time.Until(deadline) + overrunGrace)
					continue
				}
				if p.detached {
					m.end(verdict{kind: fateTold, err: m.claim.Failed(m.bound, m.bound.Err(), true)})
				}
				out = append(out, m)
				delete(under, m)
			}
		}
	}
	if len(out) > 0 {
		p.abort(out)
		return false
	}
	return true
}

// abort gives the transaction up: nothing of it happened and nobody is
// acknowledged. Those named run alone. Of the others who has read something
// starts anew, and the rest waits for the next group as it is.
func (p *party) abort(out []*member) {
	p.decoder.end()
	p.rollback()
	var next []*member
	for _, m := range p.members {
		switch {
		case m.left():
		case len(p.members) == 1, m.tries+1 >= groupTries, slices.Contains(out, m):
			m.end(verdict{kind: fateAlone})
		case m.heard:
			m.end(verdict{kind: fateAgain})
		case m.bound.Err() != nil:
			m.end(verdict{kind: fateTold, err: fmt.Errorf("%w: %w", record.ErrNotBegun, context.Cause(m.bound))})
		default:
			m.rejoin()
			next = append(next, m)
		}
	}
	p.group.again(next)
}

func (p *party) rollback() {
	if conn := p.conn.Conn(); !conn.IsClosed() && conn.PgConn().TxStatus() != idle {
		ctx, cancel := context.WithTimeout(context.Background(), pgxRollbackWait)
		defer cancel()
		_, _ = conn.Exec(ctx, "ROLLBACK") // the pool closes a connection that is not idle again
	}
}

// release gives the connection back, or closes it where somebody's request to
// cancel may still be on its way to it.
func (p *party) release() {
	p.decoder.end()
	if p.spoilt {
		ctx, cancel := context.WithTimeout(context.Background(), pgxRollbackWait)
		defer cancel()
		_ = p.conn.Conn().Close(ctx)
	}
	p.conn.Release()
}
