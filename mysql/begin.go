package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// begin asks for the lock, looks and begins the transaction with its marker.
// Held is told beside what the lookup found.
func (s *session) begin(ctx context.Context) (found seen, err error) {
	ctx, cancel := s.own(ctx)
	defer cancel()
	if s.guard == nil {
		found, err = s.beginPlainly(ctx)
	} else {
		found, err = s.beginAtOnce(ctx)
	}
	if noSuchLock(err) {
		s.db.noLock.Store(true)
	}
	return found, err
}

// beginAtOnce only glances: whoever finds a record, or an operation that nobody
// knows, looks again with the whole lookup.
func (s *session) beginAtOnce(ctx context.Context) (found seen, err error) {
	id, hash, scope := s.claim.Identity, s.claim.Hash[:], []byte(s.claim.Identity.Scope)
	sets := 0
	args := make([]any, 0, 10)
	if s.locked {
		sets++
		args = append(args, hash)
	}
	if !s.guard.maria {
		sets++
		args = append(args, hash)
	}
	operation := []byte(id.Operation)
	args = append(args, operation, scope, hash, hash, scope, operation, []byte(id.Key), operation)
	rows, err := s.q.QueryContext(ctx, s.texts().begin, args...)
	switch { // of the first statement, which without the lock may be the probe
	case isLocked(err):
		return seen{Seen: record.Seen{Held: true}}, nil
	case err != nil:
		return seen{}, ofLock(s.locked, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	held := false
	if s.locked {
		if held, err = readHeld(rows); err != nil {
			return seen{}, err
		}
	}
	exists := false
	for range sets {
		exists = rows.Next() || exists // what the probe found
		rows.NextResultSet()
	}
	if rows.Next() {
		var recorded bool
		if found, recorded, err = s.readGlance(rows); err != nil {
			return seen{}, err
		}
		exists = exists || recorded
	}
	for rows.NextResultSet() {
	}
	switch err = rows.Err(); {
	case isLocked(err):
		return seen{Seen: record.Seen{Held: true}}, nil
	case err != nil:
		return seen{}, err
	}
	look := func() (seen, error) { return lookup(ctx, s.q, id, s.claim.Hash) }
	if exists || !found.known {
		found, err = look()
	}
	if err == nil {
		found, err = s.db.steady(ctx, s.q, found, look)
	}
	found.Held = held
	return found, err
}

// readGlance reads the row of glanceSQL.
func (s *session) readGlance(rows *sql.Rows) (found seen, recorded bool, err error) {
	r, err := scanAny(rows, 7)
	if err != nil {
		return found, false, err
	}
	found.known, found.maria, found.packet = true, s.guard.maria, s.guard.packet
	found.now, found.IdentityVersion, found.Horizon = time.UnixMicro(r.integer(0)).UTC(), r.text(1), r.instant(2)
	found.Allowed, found.pinned = !r.null(4), r.integer(6) != 0
	if fence, standing := strings.CutSuffix(r.text(5), "+"); fence != "" {
		until, err := strconv.ParseInt(fence, 10, 64)
		if err != nil {
			return found, false, fmt.Errorf("mysql: a fence: %w", err)
		}
		found.FenceUntil, found.FenceOpen = time.UnixMicro(until).UTC(), standing
	}
	return found, !r.null(3), nil
}

func (s *session) texts() *texts { return s.db.texts[kind{s.guard.maria, s.locked, s.guard.blocks}] }

// readHeld reads GET_LOCK's answer; NULL means that the server could not say.
func readHeld(rows *sql.Rows) (held bool, err error) {
	if !rows.Next() {
		return false, ofLock(true, errors.Join(errors.New("mysql: no answer to GET_LOCK"), rows.Err()))
	}
	r, err := scanAny(rows, 1)
	if err != nil {
		return false, err
	}
	rows.Next() // to the end of it
	return !r.null(0) && r.integer(0) == 0, nil
}

// beginPlainly takes a statement each. The looks are READ COMMITTED, whatever
// the application left in the session: in the effect's transaction, or, where that
// one is of a higher level, in one of their own.
func (s *session) beginPlainly(ctx context.Context) (found seen, err error) {
	held := false
	if s.locked {
		if held, err = getLock(ctx, s.q, s.claim.Hash); err != nil {
			return seen{}, err
		}
	}
	if err := s.start(ctx, sql.LevelReadCommitted); err != nil {
		return seen{}, err
	}
	look := func() (seen, error) { return lookup(ctx, s.q, s.claim.Identity, s.claim.Hash) }
	if found, err = look(); err == nil {
		found, err = s.db.steady(ctx, s.q, found, look)
	}
	if err != nil {
		return seen{}, err
	}
	found.Held = held
	var one int
	err = s.q.QueryRowContext(ctx, probe(found.maria), s.claim.Hash[:]).Scan(&one)
	switch {
	case isLocked(err), err == nil && found.Record == nil:
		found.Held = true
		return found, nil
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return seen{}, err
	}
	if s.db.opts.Isolation != sql.LevelReadCommitted {
		if err = s.exec(ctx, undoSQL); err == nil {
			err = s.start(ctx, s.db.opts.Isolation)
		}
		if err != nil {
			return seen{}, err
		}
	}
	return found, s.exec(ctx, "SAVEPOINT "+s.db.marker)
}

func (s *session) start(ctx context.Context, level sql.IsolationLevel) error {
	err := s.exec(ctx, "SET TRANSACTION ISOLATION LEVEL "+levelSQL(level))
	if err == nil {
		err = s.exec(ctx, beginSQL)
	}
	return err
}
