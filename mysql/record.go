package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/refrain-dev/refrain/record"
)

// prepare does what has to be done ahead of the record's own statement, which is
// seldom anything: taking a refusal's writes back, learning the operation,
// taking over a forgotten record, spending an allow, writing a record that is
// too long for one text.
func (s *session) prepare(ctx context.Context, rec *record.Record, found seen, decision record.Decision) error {
	ctx, cancel := s.own(ctx)
	defer cancel()
	if rec.State == record.Rejected {
		if err := s.exec(ctx, "ROLLBACK TO SAVEPOINT "+s.db.marker); err != nil {
			return err
		}
	}
	long := textSize(rec) > most || 2*textSize(rec)+16<<10 > found.packet
	if found.known && !decision.Replaces && !decision.SpendsAllow && !long {
		return nil
	}
	// Outside of the transaction all of this would commit alone.
	for _, text := range [...]string{"RELEASE SAVEPOINT " + s.db.marker, "SAVEPOINT " + s.db.marker} {
		if err := s.exec(ctx, text); err != nil {
			return err
		}
	}
	if !found.known {
		if err := learn(ctx, s.q, s.claim); err != nil {
			return err
		}
	}
	if decision.Replaces {
		if err := remove(ctx, s.q, found.Record, s.claim.Hash); err != nil {
			return faster(err)
		}
	}
	if decision.SpendsAllow {
		if err := spend(ctx, s.q, s.claim.Identity, s.claim.Hash); err != nil {
			return faster(err)
		}
	}
	if !long {
		return nil
	}
	s.wrote = true
	return s.insertLong(ctx, rec)
}

// most is how many bytes of a record stand in its text, twice as long there.
const most = 64 << 10

// textSize is what the parts of a record have that may be long.
func textSize(rec *record.Record) int64 {
	id, r := rec.Identity, rec.Result
	return int64(len(id.Scope) + 2*len(id.Operation) + len(id.Key) + len(rec.Actor) + len(rec.Print.Rule) + len(rec.Print.Schema) +
		len(r.Effect) + len(r.Digest) + len(r.Body) + len(record.EncodeHeader(r.Header)))
}

// insertLong sends the record's parts apart from its text.
func (s *session) insertLong(ctx context.Context, rec *record.Record) error {
	args, err := insertArgs(rec, s.claim.Hash, s.claim.IdentityVersion)
	if err != nil {
		return err
	}
	stmt, err := s.conn.PrepareContext(ctx, insertSQL)
	if err != nil {
		return err
	}
	defer stmt.Close()
	_, err = stmt.ExecContext(ctx, args...)
	return s.whose(ctx, conditional(err))
}

func (s *session) exec(ctx context.Context, text string) error {
	_, err := s.q.ExecContext(ctx, text)
	return conditional(err)
}

// conditional names the conditions the record is written under.
func conditional(err error) error {
	switch number(err) {
	case errNoSavepoint:
		return fmt.Errorf("%w: %w", errGone, err)
	case errNullColumn:
		return fmt.Errorf("%w: %w", errMoved, err)
	case errDuplicate:
		// The value that is told is the record's hash, its ref or its number: none
		// has room for a name.
		if strings.Contains(err.Error(), uniqueRecord) {
			return fmt.Errorf("%w: %w", errRace, err)
		}
	}
	return err
}

// faster names another transaction that changed a row which this one was about
// to.
func faster(err error) error {
	if errors.Is(err, record.ErrSwapped) {
		return fmt.Errorf("%w: %w", errRace, err)
	}
	return err
}

// commit writes the record and commits. The caller waits for it no longer than
// its contract says. sent says that the COMMIT may have been tried.
func (s *session) commit(rec *record.Record) (sent bool, err error) {
	var args []any
	if !s.wrote {
		if args, err = insertArgs(rec, s.claim.Hash, s.claim.IdentityVersion); err != nil {
			return false, err
		}
	}
	if s.db.beforeCommit != nil {
		if err := s.db.beforeCommit(); err != nil {
			return false, err
		}
	}
	s.ended = true // from here on the connection belongs to the COMMIT
	result := make(chan bool, 1)
	err = s.db.late.commit(s.claim.Policy.CommitWait, func() error {
		ctx := context.Background()
		var tried bool
		var err error
		if s.guard != nil {
			tried, err = s.commitAtOnce(ctx, args)
		} else {
			tried, err = s.commitPlainly(ctx, args)
		}
		result <- tried
		return err
	}, s.committed)
	select {
	case sent = <-result:
	default: // nobody waited for it
	}
	return sent, err
}

func (s *session) commitAtOnce(ctx context.Context, args []any) (tried bool, err error) {
	text := s.texts().record
	if s.wrote {
		text = s.texts().commit
	}
	_, err = s.q.ExecContext(ctx, text, args...)
	err = conditional(err)
	return !failedBefore(err), s.whose(ctx, err)
}

func (s *session) commitPlainly(ctx context.Context, args []any) (tried bool, err error) {
	if err := s.exec(ctx, "RELEASE SAVEPOINT "+s.db.marker); err != nil {
		return false, err
	}
	if !s.wrote {
		if _, err := s.q.ExecContext(ctx, insertSQL, args...); err != nil {
			return false, s.whose(ctx, conditional(err))
		}
	}
	_, err = s.q.ExecContext(ctx, commitSQL)
	return !failedBefore(err), err
}

// whose tells the row that the record's statement waited for in vain: the
// operation's, which a rekey, a reaper or a registration holds, or the record's.
func (s *session) whose(ctx context.Context, err error) error {
	if !isLocked(err) {
		return err
	}
	ctx, cancel := s.own(ctx)
	defer cancel()
	maria, vendorErr := s.db.vendor(ctx, s.q)
	if vendorErr != nil {
		return errors.Join(err, vendorErr)
	}
	var one int
	switch held := s.q.QueryRowContext(ctx, `SELECT 1 FROM refrain_operation WHERE operation = ? LIMIT 1 `+noWait(maria), []byte(s.claim.Identity.Operation)).Scan(&one); {
	case isLocked(held):
		return fmt.Errorf("%w: %w", errOperationHeld, err)
	case held == nil:
		return fmt.Errorf("%w: %w", record.ErrHeld, err)
	default:
		return errors.Join(err, held)
	}
}

// committed gives the connection back after COMMIT, whoever still waits.
func (s *session) committed(err error) {
	ctx, cancel := s.own(context.Background())
	defer cancel()
	switch {
	case err != nil:
		s.giveBack(!broken(err) && s.undo(ctx) == nil)
	case s.guard == nil:
		s.giveBack(s.unlock(ctx) == nil)
	default:
		s.giveBack(true)
	}
}
