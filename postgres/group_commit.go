package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	beginText  = `BEGIN ISOLATION LEVEL READ COMMITTED`
	commitText = `COMMIT`
)

// ours is one of our own statements.
func ours(sql string, read func(pgx.Rows) error, args ...any) item {
	return item{query: pgx.QueuedQuery{SQL: sql, Arguments: args}, read: read}
}

// stamp is the time of the transaction's records, NULL for the server's.
func (p *party) stamp() *int64 {
	if p.group.db.opts.Now == nil {
		return nil
	}
	now := p.group.db.opts.Now().UnixMicro()
	return &now
}

// told are the destinations of momentColumns.
func (p *party) told() []any { return []any{momentOf{&p.moment}, &p.moment.now} }

// claim is the first flush where somebody has to read: the transaction,
// everybody's claim, then everybody's statements.
func (p *party) claim() bool {
	var refused *string
	a := claimsOf(p.members)
	texts, args := p.group.sql.texts(len(p.members), []any{a.hash, a.operation, a.scope, a.lock, a.identity, a.born, a.skew, a.lenient})
	if !p.flush(p.queued([]item{
		ours(beginText, nil),
		ours(texts.claim, into(append(p.told(), &refused)...), append([]any{p.stamp()}, args...)...),
	})) {
		return false
	}
	if refused != nil {
		p.abort(p.at(positions(*refused)))
		return false
	}
	return true
}

// all is the only flush where nobody has to read. The records come first: they
// make themselves fail where somebody must not execute.
func (p *party) all() {
	a := claimsOf(p.members)
	texts, args := p.group.sql.texts(len(p.members), append(recordsArgs(p.members, a), a.lock, a.born, a.skew, a.lenient))
	items := p.queued([]item{ours(beginText, nil), ours(texts.both, into(append(p.told(), new(*string))...), append([]any{p.stamp()}, args...)...)})
	p.commit(items, p.group.quiet.Load())
}

// rest is the last flush of several. The records come last: they make themselves
// fail where the transaction is not the one that was begun.
func (p *party) rest() {
	now := p.moment.now
	texts, args := p.group.sql.texts(len(p.members), recordsArgs(p.members, claimsOf(p.members)))
	items := append(p.queued(nil), ours(texts.settle, nil, append(append([]any{&now}, args...), p.moment.began)...))
	if p.detached && p.group.db.opts.Notify {
		for _, m := range p.members {
			tell := p.group.db.tell(m.claim.Hash)
			items = append(items, ours(tell.sql, nil, tell.args...))
		}
	}
	p.commit(items, p.noisy())
}

// committed demands that COMMIT has committed: the server answers ROLLBACK where
// the transaction had failed.
func committed(rows pgx.Rows) error {
	rows.Close()
	if tag := rows.CommandTag().String(); rows.Err() == nil && tag != "COMMIT" {
		return pgx.ErrTxCommitRollback
	}
	return rows.Err()
}

// noisy reports that settings of the server could cut COMMIT short or hide its
// warnings.
func (p *party) noisy() bool { return p.moment.timeout || p.moment.standbys }

// commit sends items and COMMIT, on nobody's context, and tells every member
// what came of it. Whoever has waited long enough is told that; the connection
// waits on.
func (p *party) commit(items []item, quietly bool) {
	db := p.group.db
	if quietly {
		items = append(items, ours(quiet, into(&p.waits, nil, nil)))
	}
	items = append(items, ours(commitText, committed))
	hooks := hooksOf(p.conn.Conn())
	if hooks != nil {
		hooks.unconfirmed.Store(false)
	}
	defer p.patience()()
	disarm, done := p.limit(), 0
	err := db.between(commitText, func() (err error) {
		done, err = p.exchange(context.Background(), items)
		return err
	})
	disarm()
	switch {
	case done == len(items): // whatever became of the connection after that
		p.acknowledge(hooks, quietly)
	case err != nil && !errors.Is(err, pgx.ErrTxCommitRollback) && !errors.Is(err, errEncoding) && mayHaveCommitted(err):
		for _, m := range p.members {
			m.end(verdict{kind: fateUnsure, err: err})
		}
	default:
		p.fail(items, done, err)
	}
}

// acknowledge tells the members that they are committed, unless a standby that
// had to confirm it has not.
func (p *party) acknowledge(hooks *hooks, quietly bool) {
	db, v := p.group.db, verdict{kind: fateCommitted, now: p.moment.now}
	p.group.quiet.Store(p.noisy())
	switch {
	case hooks != nil && hooks.unconfirmed.Load():
		v = verdict{kind: fateTold, err: commitUnknown(errUnconfirmed)}
	case !p.moment.standbys:
	case hooks != nil && quietly:
		if p.waits {
			db.acks.note(p.moment.postmaster, p.moment.xmin)
		}
	default: // nobody heard the warning, if there was one
		if err := db.acks.await(context.Background(), defaultCommitWait); err != nil {
			v = verdict{kind: fateTold, err: commitUnknown(err)}
		}
	}
	p.group.resize(len(p.members), true)
	for _, m := range p.members {
		m.end(v)
	}
}

// fail gives up a transaction in which the answer to items[at] was err, which
// means that it is rolled back, and finds out whom it was about.
func (p *party) fail(items []item, at int, err error) {
	var unsent pgx.ErrPreprocessingBatch
	var out []*member
	switch {
	case errors.As(err, &unsent):
		for _, it := range items {
			if it.owner != nil && it.query.SQL == unsent.SQL() {
				out = append(out, it.owner)
			}
		}
	case at < len(items) && items[at].owner != nil && sqlState(err) != "" && !severed(err):
		out = []*member{items[at].owner}
	default:
		out = p.about(err)
	}
	if len(out) == 0 && !severed(err) {
		out = p.members // by themselves they will know
	}
	if at < len(items) && items[at].owner != nil {
		p.group.resize(len(p.members), false)
	}
	p.abort(out)
}

// about are the members whose records made a statement of ours fail.
func (p *party) about(err error) (out []*member) {
	text := ""
	if e := new(pgconn.PgError); errors.As(err, &e) {
		text = e.Message + "\n" + e.Detail
	}
	if out = p.at(refusedMembers(text)); len(out) > 0 || !errors.Is(lostRace(err), errRace) {
		return out
	}
	for _, m := range p.members {
		if strings.Contains(text, hashText(m.claim.Hash)) {
			out = append(out, m)
		}
	}
	return out
}

// at are the members at these positions.
func (p *party) at(positions []int) (out []*member) {
	for _, i := range positions {
		if i < len(p.members) {
			out = append(out, p.members[i])
		}
	}
	return out
}
