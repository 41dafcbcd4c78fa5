package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

var (
	// errAborted: a statement failed and the effect went on as if it had not.
	errAborted = errors.New("postgres: a statement of the effect failed and its error was not returned")
	// errLostIn: the connection broke under the effect; nothing of it is left.
	errLostIn = errors.New("postgres: the connection was lost during the effect")
)

// lend gives the transaction to the effect for one turn. Its error is what
// Execute answers after rolling back, or one to run the attempt again for.
func (r *run) lend(ctx context.Context, s *session, rec *record.Record) (record.Result, error) {
	bounded, cancel := r.c.Bound(ctx, rec)
	defer cancel()
	t := &turn{conn: s.conn.Conn(), base: bounded}
	if s.hooks != nil {
		s.hooks.turn.Store(t)
		defer s.hooks.turn.Store(nil)
	}
	defer t.end() // also when the effect does not return
	result, err := r.effect(bounded, &handle{inner: s.tx, t: t})
	poison := t.end()
	if t.forgot && s.status() == active { // pgx has to forget them, too
		err = errors.Join(err, t.conn.DeallocateAll(bounded))
	}
	s.large = t.large
	if s.hooks != nil {
		s.hooks.turn.Store(nil)
	}
	switch status := s.status(); {
	case bounded.Err() != nil && ctx.Err() == nil: // it ran over, whatever it says
		return result, r.c.Failed(bounded, errors.Join(bounded.Err(), err), true)
	case bounded.Err() == nil && again(poison, err, status):
		return result, errors.Join(poison, err)
	case bounded.Err() == nil && s.conn.Conn().IsClosed() && !errors.Is(poison, refrain.ErrOwned):
		return result, errors.Join(errLostIn, poison, err)
	case bounded.Err() == nil && poison == nil && t.met.spoilt(status == aborted, err) && (err != nil || !result.Rejected):
		return result, t.met.failing(err)
	case poison != nil:
		err = errors.Join(poison, err)
	case status == idle:
		err = errors.Join(refrain.ErrOwned, errEnded, err)
	case err == nil:
		err = t.swallowed(status, result.Rejected)
	}
	if err != nil {
		err = errors.Join(err, context.Cause(bounded)) // the caller went away
		return result, r.c.Failed(bounded, err, s.wrote(t))
	}
	result, err = r.c.Keep(result)
	return result, err
}

// again reports an effect that may succeed when it is run again: a serialization
// failure or a deadlock, of this transaction and not of another database.
func again(poison, err error, status byte) bool {
	if poison != nil {
		return retryable(poison)
	}
	return status == aborted && retryable(err)
}

const wroteText = `SELECT pg_current_xact_id_if_assigned() IS NOT NULL`

// wrote reports whether the effect changed anything. After a failed statement the
// server does not tell; then the command tags do.
func (s *session) wrote(t *turn) bool {
	if s.status() != active {
		return t.wrote
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var assigned bool
	err := s.conn.QueryRow(ctx, wroteText).Scan(&assigned)
	return assigned || err != nil && t.wrote
}
