package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain/record"
)

// errAgain ends an effect whose transaction is gone. Nobody is told of it.
var errAgain = errors.New("postgres: the effect's group was rolled back; it runs again")

// run runs the effect and whatever its transaction needs, and tells how it ended.
func (m *member) run(effect func(context.Context, *Batch) (record.Result, error)) (end verdict) {
	ctx, cancel := m.claim.Bound(m.caller, m.rec)
	defer cancel()
	m.bound = ctx
	returned := false
	defer func() {
		if !returned { // a panic or Goexit goes its way
			_, _ = m.batch.take(true)
			m.leave()
		}
	}()
	result, err := effect(ctx, m.batch)
	returned = true
	queued, _ := m.batch.take(true)
	if m.over() {
		return m.verdict()
	}
	if err == nil {
		err = m.batch.swallowed(result.Rejected)
	}
	if err == nil && !result.Rejected && listens(queued) {
		if err = m.send(ctx, queued); m.over() {
			return m.verdict()
		}
		queued = nil
	}
	if err == nil {
		err = ctx.Err() // it ran over, whatever it says
	}
	if err == nil {
		result, err = m.claim.Keep(result)
	}
	switch {
	case err != nil:
		return m.failed(ctx, err, m.batch.wrote() || changing(queued) > 0)
	case result.Rejected && m.heard: // its writes are in the group's transaction
		m.leave()
		return verdict{kind: fateAlone}
	case result.Rejected:
		queued = nil
	}
	m.queued, m.sent, m.result, m.final = queued, false, result, true
	if !m.shareable(queued) {
		return m.verdict()
	}
	return m.submit(ctx)
}

// failed tells what the caller learns of an effect that ended in an error. One
// that has read in its group's transaction had the claim. Of any other nobody
// has looked yet: what stands recorded is the answer.
func (m *member) failed(bound context.Context, err error, wrote bool) verdict {
	m.leave()
	refusal := new(record.Error)
	if !errors.As(err, &refusal) {
		err = m.claim.Failed(bound, err, wrote)
	}
	if m.heard || bound.Err() != nil {
		return verdict{kind: fateTold, err: err}
	}
	known, now, failed := m.group.db.Load(m.caller, m.claim.Identity)
	if failed != nil {
		return verdict{kind: fateTold, err: failed}
	}
	if d, err := decide(seen{Seen: known, locked: true}, m.claim, now); err != nil || d.Action != record.Execute {
		return verdict{kind: fateAlone}
	}
	return verdict{kind: fateTold, err: err}
}

// send is [Batch.Send].
func (m *member) send(ctx context.Context, queued []*pgx.QueuedQuery) error {
	if m.over() {
		return errAgain
	}
	m.queued, m.sent = queued, false
	if !m.shareable(queued) {
		return errAgain
	}
	switch v := m.submit(ctx); v.kind {
	case fateAnswered:
	case fateTold:
		return v.err
	default:
		return errAgain
	}
	for i, q := range queued {
		if q.Fn == nil {
			continue
		}
		if err := q.Fn(replies{m.got[i], &m.party.decoder}); err != nil {
			return err
		}
	}
	return nil
}

// shareable ends the member's part in groups where one of its statements is not
// for company.
func (m *member) shareable(queued []*pgx.QueuedQuery) bool {
	for _, q := range queued {
		if !shareable(q.SQL) {
			m.group.setApart(m.claim.Identity.Operation)
			m.leave()
			m.end(verdict{kind: fateAlone})
			return false
		}
	}
	return true
}
