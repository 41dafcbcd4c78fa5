package mysql

import (
	"context"
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

var errLost = errors.New("mysql: the effect's connection was lost")

// effect runs the caller's effect as a turn of its own and returns its result.
// A refusal's writes are still there; prepare takes them back.
func (s *session) effect(ctx context.Context, rec *record.Record, fn func(context.Context, Tx) (record.Result, error), packet int64) (record.Result, error) {
	c := s.claim
	bounded, cancel := c.Bound(ctx, rec)
	defer cancel()
	t := &turn{base: bounded}
	if err := s.lend(t); err != nil {
		return record.Result{}, err
	}
	intact := false
	var result record.Result
	err := func() (err error) {
		defer func() { intact = s.reclaim(t) }() // also after a panic or runtime.Goexit
		result, err = fn(bounded, handle{conn: s.conn, turn: t, guarded: s.guard != nil})
		return err
	}()
	poison, wrote := t.verdict()
	switch {
	case poison != nil && bounded.Err() == nil && !errors.Is(poison, refrain.ErrOwned):
		return record.Result{}, poison // the server's doing, whatever the effect made of it
	case poison != nil:
		err = poison
	case err == nil && bounded.Err() != nil:
		err = bounded.Err() // it ran over, or statements were cut, whatever it says
	case err == nil && !intact:
		return record.Result{}, errLost
	}
	if err != nil {
		return record.Result{}, c.Failed(bounded, err, wrote)
	}
	return keep(c, result, packet)
}

// lend gives the connection to t.
func (s *session) lend(t *turn) error {
	if s.guard == nil {
		return nil
	}
	return s.conn.Raw(func(any) error {
		s.guard.begin(t)
		return nil
	})
}

// reclaim takes it back and reports whether it is still of use.
func (s *session) reclaim(t *turn) (intact bool) {
	t.finish()
	if s.guard == nil {
		return true
	}
	err := s.conn.Raw(func(any) error {
		s.left = s.guard.reclaim()
		intact = s.guard.inner.IsValid()
		return nil
	})
	return err == nil && intact
}

// fixedBytes is what a row has beside its texts, as the server sends it.
const fixedBytes = 1024

// mediumBytes is what a column of a result's header, or of its reference to the
// effect, holds.
const mediumBytes = 1<<24 - 1

// keep fits a result into the policy, into its columns, and into what the server
// takes in one piece, both ways: a record that could be written but not read would
// be lost.
func keep(c *record.Claim, result record.Result, packet int64) (record.Result, error) {
	id, print := c.Identity, c.Request.Print
	header := len(record.EncodeHeader(result.Header))
	if most := max(header, len(result.Effect)); most > mediumBytes {
		return record.Result{}, &record.Error{Problem: record.ResponseTooLarge, Row: "15",
			Err: fmt.Errorf("%d bytes of header or of the effect's reference, a column holds %d", most, mediumBytes)}
	}
	beside := int64(fixedBytes + len(id.Scope) + len(id.Operation) + len(id.Key) + len(c.Actor) + len(print.Rule) + len(print.Schema) +
		len(result.Effect) + header + len(c.IdentityVersion))
	room := packet - beside
	if room < 0 {
		return record.Result{}, &record.Error{Problem: record.ResponseTooLarge, Row: "15",
			Err: fmt.Errorf("%d bytes beside the body, the server's max_allowed_packet is %d", beside, packet)}
	}
	fitting := *c
	fitting.Policy.MaxResult = min(c.Policy.MaxResult, room)
	return fitting.Keep(result)
}
